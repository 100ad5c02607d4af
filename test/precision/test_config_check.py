"""What two training runs were started with: packs, and logs of slime."""

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
