"""`vllm bench serve --profile` beside our summary of the same requests: counts are equal; its times
have the client and the connection on top."""

import csv
import json
import os
import subprocess
import time
from pathlib import Path

from vllm_server import Server

REQUESTS = 12


def bench(python, server, model, folder):
    command = [Path(python).parent / "vllm", "bench", "serve", "--backend", "openai",
               "--base-url", f"http://127.0.0.1:{server.port}", "--model", "tiny",
               "--tokenizer", model, "--dataset-name", "random", "--random-input-len", "32",
               "--random-output-len", "16", "--num-prompts", str(REQUESTS),
               "--max-concurrency", "3", "--percentile-metrics", "ttft,tpot,itl,e2el",
               "--metric-percentiles", "50,90,99", "--ignore-eos", "--save-result",
               "--result-dir", folder, "--disable-tqdm", "--profile"]  # fmt: skip
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = folder.glob("*.json")
    return json.loads(result.read_text())


def test_beside_vllm_bench_serve(sonde, vllm_python, model, tmp_path):
    launcher = [sonde, "run", "--profile-save-path", tmp_path / "profile", "--"]
    results = tmp_path / "results"
    results.mkdir()
    with Server(vllm_python, model, tmp_path / "log", launcher) as server:
        server.ask("import ", 4)
        told = bench(vllm_python, server, model, results)
        end = time.monotonic() + 120
        while "sonde: served:" not in server.log.read_text(errors="replace"):
            assert time.monotonic() < end, server.last_lines()
            time.sleep(0.2)
    (summary,) = (tmp_path / "profile").glob("server_*/serving_summary.csv")
    with summary.open(newline="") as file:
        ours = {(row["name"], row["statistic"]): float(row["value"])
                for row in csv.DictReader(file)}  # fmt: skip
    assert ours["whole requests", "sum"] == told["completed"] == REQUESTS
    assert ours["output tokens", "sum"] == told["total_output_tokens"]
    assert ours["prompt tokens", "sum"] == told["total_input_tokens"]
    names = {"TTFT": "ttft", "TPOT": "tpot", "ITL": "itl", "E2E": "e2el"}
    for name, theirs in names.items():
        for statistic, prefix in (("mean", "mean"), ("P50", "median"), ("P99", "p99")):
            mine, client = ours[name, statistic], told[f"{prefix}_{theirs}_ms"]
            print(f"{name} {statistic}: ours {mine:.3f} ms, client {client:.3f} ms")
        # What the client waits for is what the server took, and its own work on top, which is
        # as much again where it has no core of its own.
        mine, client = ours[name, "mean"], told[f"mean_{theirs}_ms"]
        assert 0 < mine < 1.05 * client + 1, (name, mine, client)
