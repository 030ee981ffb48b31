"""Each claim of these experiments fails under a fault injected for it. faults_test.py LAB INJECTED_FAULTS"""

import re
import subprocess
import sys
import unittest

from lab_scales import FLAGS

LAB, FAULTY = sys.argv[1:]
del sys.argv[1:]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def claims(text, verdict):
    return re.findall(rf"^{verdict}: (.*)$", text, re.M)


class InjectedFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.faults = {}  # for each experiment and fault, the claims that must fail
        for line in output(FAULTY).splitlines():
            experiment, fault, claim = line.split("\t")
            cls.faults.setdefault((experiment, fault), []).append(claim)
        assert cls.faults
        cls.experiments = {experiment for experiment, _ in cls.faults}
        cls.claims = {name: claims(output(LAB, name, *FLAGS[name]), "holds") for name in cls.experiments}

    def test_every_claim_has_a_fault(self):
        for name in sorted(self.experiments):
            listed = [claim for (experiment, _), beginnings in self.faults.items() if experiment == name
                       for claim in beginnings]
            for claim in self.claims[name]:
                with self.subTest(experiment=name, claim=claim):
                    self.assertEqual(sum(claim.startswith(beginning) for beginning in listed), 1)
            self.assertEqual(len(listed), len(self.claims[name]), name)

    def test_claims_fail_under_the_faults_injected_for_them(self):
        for (experiment, fault), beginnings in self.faults.items():
            failed = claims(output(FAULTY, experiment, fault), "FAILS")
            for beginning in beginnings:
                with self.subTest(experiment=experiment, fault=fault, claim=beginning):
                    self.assertTrue(any(claim.startswith(beginning) for claim in failed), failed)


if __name__ == "__main__":
    unittest.main()
