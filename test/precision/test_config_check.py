"""What two training runs were started with: packs, and logs of slime and verl."""

import csv
import json
import re
import zipfile

LOG = """start
------------------------ arguments ------------------------
  bf16 ............................................ True
  lr .............................................. {lr}
  name ............................................ a b
  profile_steps ................................... {lr}
  only_{side} ..................................... 1
-------------------- end of arguments ---------------------
"""


def write_logs(tmp_path):
    logs = (tmp_path / "npu.log", tmp_path / "gpu.txt")
    logs[0].write_text(LOG.format(lr="1e-06", side="npu"))
    logs[1].write_text(LOG.format(lr="0.000001", side="gpu"))
    return logs


def test_arguments_of_two_logs(probe, tmp_path):
    out = tmp_path / "out"
    done = probe("config_check", "-sc", *write_logs(tmp_path), "-o", out)
    assert "arguments  5, 2 differ" in done.stdout
    assert json.loads((out / "NPU_config.json").read_text())["lr"] == 1e-06
    text = (out / "hyper_params_compare.csv").read_text(encoding="utf-8")
    assert text.startswith("\ufeff")
    rows = list(csv.reader(text[1:].splitlines()))
    assert rows[1:] == [
        ["bf16", "True", "True", "是"],
        ["lr", "1e-06", "1e-06", "是"],
        ["name", "'a b'", "'a b'", "是"],
        ["only_gpu", "NA", "1", "否"],
        ["only_npu", "1", "NA", "否"],
    ]


def test_logs_without_arguments(probe, tmp_path):
    npu, gpu = write_logs(tmp_path)
    gpu.write_text("nothing")
    done = probe("config_check", "-sc", npu, gpu, good=False)
    assert done.returncode == 1
    assert "gpu.txt: the log holds no block of arguments" in done.stderr
    done = probe("config_check", "-sc", npu, tmp_path / "x.json", good=False)
    assert done.returncode == 1 and "ends in .log or .txt" in done.stderr


VERL = """{mark}{{'actor_rollout_ref': {{'actor': {{'clip_ratio': 0.2,
{mark}                                 'lr': {lr},
(WorkerDict pid=9) loading weights, please wait
{mark}                                 'names': ['a', 'b'],
{mark}                                 'shuffle': {shuffle}}},
{mark}                       'rollout': {{'name': 'vllm'}}}},
{mark}INFO 12:00 something else
{mark} 'trainer': {{'balance_batch': False,
{mark}             'profiler': {{'steps': {lr}}},
{mark}             'ray_wait_register_center_timeout': {lr},
{mark}             'text': 'it is '
{mark}                     'long', 'nothing': None}}}}
{mark}training begins
"""


def write_verl(path, lr, shuffle):
    old = VERL.format(mark="(TaskRunner pid=1) ", lr=7, shuffle="True")
    path.write_text(old + VERL.format(mark="(TaskRunner pid=7) ", lr=lr, shuffle=shuffle))
    return path


def rows_of(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("\ufeff")
    return list(csv.reader(text[1:].splitlines()))[1:]


def test_configurations_of_two_verl_logs(probe, tmp_path):
    npu = write_verl(tmp_path / "npu.log", "1e-06", "False")
    gpu = write_verl(tmp_path / "gpu.log", "0.000002", "False")
    done = probe("config_check", "-vc", npu, gpu, "-o", tmp_path / "out")
    assert "parameters 8, 1 differ" in done.stdout
    rows = rows_of(tmp_path / "out/hyper_params_compare.csv")
    assert ["actor_rollout_ref/actor/lr", "1e-06", "2e-06", "否"] in rows
    assert ["actor_rollout_ref/actor/names", "['a', 'b']", "['a', 'b']", "是"] in rows
    assert ["trainer/text", "'it is long'", "'it is long'", "是"] in rows
    config = json.loads((tmp_path / "out/NPU_config.json").read_text())
    assert config["actor_rollout_ref"]["actor"]["lr"] == 1e-06


def test_a_verl_log_against_a_benchmark(probe, tmp_path):
    log = write_verl(tmp_path / "npu.log", "1e-06", "True")
    probe("config_check", "-vv", log, "-o", tmp_path / "own")
    rows = rows_of(tmp_path / "own/hyper_params_verify.csv")
    assert ["actor_rollout_ref/actor/shuffle", "False", "True", "否"] in rows
    assert ["trainer/balance_batch", "False", "False", "是"] in rows
    assert ["VLLM_ASCEND_ENABLE_NZ", "0", "NA", "否"] in rows
    bench = tmp_path / "bench.yaml"
    bench.write_text("actor_rollout_ref:\n  actor:\n    lr: 0.000001\n    names: [a, b]\n")
    done = probe("config_check", "-vv", bench, log, "-o", tmp_path / "out")
    assert "parameters 2, 0 differ" in done.stdout
    done = probe("config_check", "-vv", log, bench, good=False)
    assert done.returncode == 1 and "the benchmark comes first" in done.stderr


def test_verl_logs_that_are_broken(probe, tmp_path):
    good = write_verl(tmp_path / "good.log", "1", "True")
    bad = tmp_path / "bad.log"
    for text in ("nothing", "{'actor_rollout_ref': {'a': [1, 2", "x {'actor_rollout_ref': 3 4}"):
        bad.write_text(text)
        done = probe("config_check", "-vc", good, bad, good=False)
        assert done.returncode == 1 and str(bad) in done.stderr, text
        assert done.stderr.count("\n") == 1


SCRIPT = """#!/bin/bash
# torchrun --not-this 1
LR=1e-6
MODEL_ARGS="--num-layers {layers} \\
  --bf16"
torchrun --nproc_per_node 8 train.py $MODEL_ARGS --lr ${{LR}} --seed=7 | tee log
"""


def pack(probe, tmp_path, name, layers):
    script = tmp_path / f"{name}.sh"
    script.write_text(SCRIPT.format(layers=layers))
    probe("config_check", "-d", script, "-o", tmp_path / f"{name}.zip")
    return tmp_path / f"{name}.zip"


def test_packs(probe, tmp_path):
    first, second = pack(probe, tmp_path, "gpu", 2), pack(probe, tmp_path, "npu", 4)
    with zipfile.ZipFile(first) as members:
        assert members.testzip() is None
        assert "PATH" in json.loads(members.read("env"))
        assert b"=" in members.read("pip")
        parameters = json.loads(members.read("hyperparameters/hyperparameters_static.json"))
    assert parameters == {
        **{"nproc_per_node": "8", "num-layers": "2", "bf16": True},
        **{"lr": "1e-6", "seed": "7"},
    }
    out = tmp_path / "out"
    done = probe("config_check", "-c", first, second, "-o", out)
    assert "env: pass\npip: pass\nhyperparameters: error\n" in done.stdout
    with zipfile.ZipFile(out / "result.xlsx") as book:
        sheets = re.findall(r'<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode())
        assert "num-layers" in book.read("xl/worksheets/sheet4.xml").decode()
    assert sheets == ["summary", "env", "pip", "hyperparameters"]


def test_wrong_packs(probe, tmp_path):
    bad = tmp_path / "bad.zip"
    bad.write_bytes(b"PK nothing")
    done = probe("config_check", "-c", bad, bad, good=False)
    assert done.returncode == 1 and "bad.zip: is no zip file" in done.stderr
    assert probe("config_check", good=False).returncode == 2
