"""Exported traces of requests, read by OpenTelemetry's own messages of the protocol, and their
attributes beside its list of semantic conventions (the packages that a vLLM brings)."""

import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

# Of the conventions' text: the list in the package has names only.
TYPES = {
    "gen_ai.operation.name": "string_value", "gen_ai.provider.name": "string_value",
    "gen_ai.request.model": "string_value", "gen_ai.response.id": "string_value",
    "gen_ai.request.max_tokens": "int_value", "gen_ai.request.temperature": "double_value",
    "gen_ai.request.top_p": "double_value", "gen_ai.request.top_k": "double_value",
    "gen_ai.request.choice.count": "int_value", "gen_ai.request.seed": "int_value",
    "gen_ai.response.finish_reasons": "array_value", "gen_ai.usage.input_tokens": "int_value",
    "gen_ai.usage.output_tokens": "int_value", "service.name": "string_value",
    "gen_ai.usage.cache_read.input_tokens": "int_value", "service.instance.id": "string_value",
    # vLLM's own traces have these, which the conventions lack.
    "gen_ai.latency.time_to_first_token": "double_value",
    "gen_ai.latency.time_in_queue": "double_value",
}  # fmt: skip
OF_VLLM = {name for name in TYPES if name.startswith("gen_ai.latency.")}

READ = '''
import base64, importlib, json, pkgutil, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.semconv import _incubating, attributes
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

def with_bytes(value):
    """OTLP has ids in hexadecimal, where JSON of protocol buffers has base64."""
    if isinstance(value, list):
        return [with_bytes(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: base64.b64encode(bytes.fromhex(one)).decode()
            if key in ("traceId", "spanId", "parentSpanId") else with_bytes(one)
            for key, one in value.items()}

known = set()
for package in (_incubating.attributes, attributes):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        known |= {v for k, v in vars(importlib.import_module(module.name)).items()
                  if k.isupper() and isinstance(v, str)}
operations = [one.value for one in gen_ai_attributes.GenAiOperationNameValues]
spans, found, templates = [], {}, []
def take(attributes):
    for one in attributes:
        found.setdefault(one.key, set()).add(one.value.WhichOneof("value"))
with open(sys.argv[1]) as file:
    for line in file:
        text = json.dumps(with_bytes(json.loads(line)))
        message = json_format.Parse(text, ExportTraceServiceRequest())
        for resource in message.resource_spans:
            take(resource.resource.attributes)
            for scope in resource.scope_spans:
                for span in scope.spans:
                    take(span.attributes)
                    facts = {one.key: one.value for one in span.attributes}
                    spans.append({
                        "trace": span.trace_id.hex(), "span": span.span_id.hex(),
                        "parent": span.parent_span_id.hex(), "kind": span.kind, "name": span.name,
                        "ns": span.end_time_unix_nano - span.start_time_unix_nano,
                        "operation": facts["gen_ai.operation.name"].string_value
                        if "gen_ai.operation.name" in facts else None,
                        "output": facts["gen_ai.usage.output_tokens"].int_value
                        if "gen_ai.usage.output_tokens" in facts else None})
print(json.dumps({"spans": spans, "found": {k: sorted(v) for k, v in found.items()},
                  "known": sorted(known & set(found)), "operations": operations}))
'''


@pytest.fixture(name="read", scope="module")
def read_export(sonde, vllm_python, tmp_path_factory):
    """A recorded session, exported by us and read by them."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    data = Path(os.environ.get("SONDE_SHARED_DATA", beside))
    archive = data / "field2" / "serving" / "front_end_stopped.tar.xz"
    if not archive.is_file():
        pytest.skip(f"needs data: {archive}")
    folder = tmp_path_factory.mktemp("otlp")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (session,) = folder.iterdir()
    done = subprocess.run([sonde, "analyse", session, "--export-type", "otlp"],
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = subprocess.run([vllm_python, "-c", READ, session / "otlp_traces.jsonl"],
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return session, json.loads(done.stdout)


def test_their_messages_hold_each_request(read, rows):
    session, found = read
    requests = [span for span in found["spans"] if span["kind"] == 2]  # SPAN_KIND_SERVER
    times = rows(session, "SELECT client_ns FROM request_time")
    assert len(requests) == len(times) == 18
    assert sorted(one["ns"] for one in requests) == sorted(row["client_ns"] for row in times)
    tokens = rows(session, "SELECT sum(output_tokens) AS n FROM request")[0]["n"]
    assert sum(one["output"] for one in requests) == tokens > 0
    for request in requests:
        children = [one for one in found["spans"] if one["parent"] == request["span"]]
        assert sum(one["ns"] for one in children) == request["ns"]
        assert len(request["trace"]) == 32 and len(request["span"]) == 16
        assert {one["trace"] for one in children} == {request["trace"]}


def test_attributes_are_those_of_the_conventions(read):
    _, found = read
    theirs = {name for name in found["found"] if not name.startswith("sonde.")}
    assert theirs - OF_VLLM == set(found["known"]), "the conventions have no such name"
    assert theirs >= {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.usage.input_tokens"}
    assert {name: found["found"][name] for name in theirs} == {name: [TYPES[name]]
                                                               for name in theirs}  # fmt: skip
    requests = [span for span in found["spans"] if span["operation"]]
    assert {span["operation"] for span in requests} <= set(found["operations"])
    assert all(span["name"].split()[0] == span["operation"] for span in requests)
