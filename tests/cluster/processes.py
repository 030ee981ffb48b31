"""A program as one process or as several of a cluster: what the tests of such programs share."""

import os
import subprocess

LIMIT = 200  # seconds; a job that hangs is a fault

# Several processes on one processor, as whoever runs the tests.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def run(launcher, processes, *command):
    """Runs a command to its end, in so many processes; in 0, without the launcher."""
    started = [*launcher, "-n", str(processes)] if processes else []
    return subprocess.run([*started, *map(str, command)], env=ENVIRONMENT, timeout=LIMIT,
                          capture_output=True, text=True)
