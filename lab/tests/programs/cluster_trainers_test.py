"""Trainers alone and on several processes. Usage: cluster_trainers_test.py FOLDER MPIRUN, with the folder of the trainers."""

import unittest

from cluster_test_case import ClusterTest


class Trainers(ClusterTest):
    RUNS = {
        "classify": ["--layers", "1", "--channels", "16", "--dropout", "0.1", "--batch-tokens", "4000", "--epochs", "2"],
        "handwriting": ["--layers", "1", "--hidden", "8", "--components", "2", "--norm", "layer", "--batch-size", "50",
                        "--epochs", "1"],
        "order_embeddings": ["--embedding", "8", "--hidden", "16", "--batch-size", "100", "--epochs", "1"],
        "order_embeddings wordnet": ["--task", "wordnet", "--hidden", "8", "--epochs", "1"],
        "parse": ["--embedding", "8", "--hidden", "16", "--epochs", "1"],
        "read": ["--hidden", "8", "--norm", "layer", "--epochs", "1"],
        "skip_thoughts": ["--embedding", "6", "--hidden", "8", "--norm", "layer", "--epochs", "1"],
    }

    def test_the_shards_decide_not_the_processes(self):
        self.compare_processes()


if __name__ == "__main__":
    unittest.main()
