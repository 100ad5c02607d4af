"""Stands where vLLM MindSpore is installed on a machine with an NPU: a program of ours that makes
the calls which its worker makes (see entrypoints)."""
