"""The experiments of the laboratory, each with flags for a small scale that still bears out its claims."""

FLAGS = {
    "theorem1": ["--rows", "20", "--steps", "20"],
    "invariance": [],
    "adanorm": [],
    "theorem2": [],
    "dynamics": [],
    "geometry": [],
    "spectra": [],
    "divisive": ["--seeds", "1", "--cnn-steps", "20", "--rnn-steps", "80", "--smoothing-steps", "20"],
    "drift": ["--seeds", "1", "--steps", "20", "--lr-factors", "1", "--tasks", "grammar,mnist,cnn",
              "--optimizers", "adamw,sgd", "--layers", "1,2", "--channels", "8", "--quiet"],
    "gradients": ["--steps", "5"],
    "forms": ["--layers", "1,2", "--seeds", "2", "--quiet"],
    "fork": ["--seeds", "6", "--quiet"],
    "signal": ["--tasks", "pre_2_adam,perceptron_6_momentum", "--seeds", "1", "--quiet"],
    "factorial": ["--tasks", "post_2_adam,perceptron_he_momentum", "--seeds", "1", "--quiet"],
    "depth": ["--layers", "1,3", "--placements", "pre", "--steps", "10,40", "--channels", "16", "--seeds", "3", "--quiet"],
    "ba2016": ["--quiet"],
    "xu2019": ["--quiet"],
    "mnist_norms": ["--seeds", "3", "--epochs", "2", "--limit", "1500", "--quiet"],
}
