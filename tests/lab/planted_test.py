"""Each claim of these experiments fails under an error planted for it. planted_test.py LAB PLANTED_ERRORS"""

import re
import subprocess
import sys
import unittest

from lab_scales import FLAGS

LAB, PLANTED = sys.argv[1:]
del sys.argv[1:]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def claims(text, verdict):
    return re.findall(rf"^{verdict}: (.*)$", text, re.M)


class PlantedErrors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.errors = {}  # for each experiment and error, the claims that must fail
        for line in output(PLANTED).splitlines():
            experiment, error, claim = line.split("\t")
            cls.errors.setdefault((experiment, error), []).append(claim)
        assert cls.errors
        cls.experiments = {experiment for experiment, _ in cls.errors}
        cls.claims = {name: claims(output(LAB, name, *FLAGS[name]), "holds") for name in cls.experiments}

    def test_every_claim_has_a_planted_error(self):
        for name in sorted(self.experiments):
            planted = [claim for (experiment, _), beginnings in self.errors.items() if experiment == name
                       for claim in beginnings]
            for claim in self.claims[name]:
                with self.subTest(experiment=name, claim=claim):
                    self.assertEqual(sum(claim.startswith(beginning) for beginning in planted), 1)
            self.assertEqual(len(planted), len(self.claims[name]), name)

    def test_claims_fail_under_the_errors_planted_for_them(self):
        for (experiment, error), beginnings in self.errors.items():
            failed = claims(output(PLANTED, experiment, error), "FAILS")
            for beginning in beginnings:
                with self.subTest(experiment=experiment, error=error, claim=beginning):
                    self.assertTrue(any(claim.startswith(beginning) for claim in failed), failed)


if __name__ == "__main__":
    unittest.main()
