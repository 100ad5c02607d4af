"""The guide of vLLM MindSpore below `sonde run`: the package needs an NPU, so a program of ours
makes the calls that its worker makes (programs/vllm_mindspore)."""

import csv
import re
import signal
import subprocess
import urllib.request

from conftest import PROGRAMS, clean_environment

ENTRY = ["-m", "vllm_mindspore.entrypoints", "vllm.entrypoints.openai.api_server"]


def post(port, route):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{route}", data=b"{}", method="POST")
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read()


def test_the_guide_as_it_stands(python, sonde, tmp_path, rows):
    variables = {"VLLM_TORCH_PROFILER_DIR": str(tmp_path / "prof"), "PYTHONPATH": str(PROGRAMS)}
    server = subprocess.Popen([sonde, "run", "--", python, *ENTRY, "--model", "any"],
                              cwd=tmp_path, env=clean_environment(**variables), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    printed = []
    try:
        for line in server.stdout:
            printed.append(line)
            if found := re.match(r"listening on (\d+)", line):
                break
        port = int(found[1])
        post(port, "v1/completions")
        for _ in range(2):  # a session, and another one
            post(port, "start_profile")
            post(port, "v1/completions")
            post(port, "stop_profile")
    finally:
        server.send_signal(signal.SIGTERM)
        printed += server.communicate(timeout=60)[0].splitlines(keepends=True)
    text = "".join(printed)
    assert f"Traces will be saved to: {tmp_path / 'prof'}" in text
    assert len(re.findall(r"\[\d+\] Parsing: \[#{20}\] 3/3 Done", text)) == 2, text
    spans = sorted((tmp_path / "prof").glob("*_ascend_ms"))
    assert len(spans) == 2, text
    assert not list(tmp_path.glob("profile/*")), "the child that parses is not recorded"
    for span in spans:
        output = span / "ASCEND_PROFILER_OUTPUT"
        with open(output / "op_statistic.csv", encoding="utf-8") as file:
            types = {row["OP Type"]: int(row["Count"]) for row in csv.DictReader(file)}
        assert types["MatMul"] == 5
        assert (output / "kernel_details.csv").exists() and (output / "trace_view.json").exists()
        assert rows(span, "SELECT count(*) AS n FROM callstack")[0]["n"] > 0
