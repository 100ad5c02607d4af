"""msProbe's acc_check with the CPU in the place of its device: reference.py DUMP FOLDER.

The tool refuses to start without an accelerator. What is changed here is only where it computes and
that nothing is asked of a device that is not there; every measurement and table is its own.
"""

import argparse
import contextlib
import sys

import torch
from msprobe.pytorch.api_accuracy_checker.acc_check import acc_check, acc_check_utils


def main(dump, folder):
    acc_check.current_device = acc_check_utils.current_device = "cpu"
    torch.cuda.set_device = torch.cuda.empty_cache = lambda *_: None
    # Its autocast is CUDA's, which on a machine without one only warns at each call.
    acc_check_utils.autocast = lambda *_, **__: contextlib.nullcontext()
    parser = argparse.ArgumentParser()
    acc_check._acc_check_parser(parser)
    acc_check.acc_check_command(parser.parse_args(["-api_info", dump, "-o", folder]))


if __name__ == "__main__":
    main(*sys.argv[1:])
