"""A model with one operator in its middle, compiled by a compiler with a fault:
``faulty_model.py PART DTYPE [FAULT]``."""

import sys

import torch
from compiler_faults import FAULTS
from parts import make


def main(part, dtype, fault=""):
    torch.set_num_threads(1)
    if fault:
        FAULTS[fault][2]()
    model, batch = make(part, dtype)
    with torch.no_grad():
        result = torch.compile(model)(batch)
    print("sum", result.float().sum().item())


if __name__ == "__main__":
    main(*sys.argv[1:])
