"""Requests of a server as traces of OpenTelemetry: the JSON encoding of the protocol."""

import json
import re
import tarfile

import pytest

# What a message of the protocol may have, and the form of each member.
FORMS = {
    "TracesData": {"resourceSpans": ["ResourceSpans"]},
    "ResourceSpans": {"resource": "Resource", "scopeSpans": ["ScopeSpans"]},
    "Resource": {"attributes": ["KeyValue"]},
    "ScopeSpans": {"scope": "Scope", "spans": ["Span"]},
    "Scope": {"name": "text", "version": "text"},
    "Span": {
        "traceId": r"[0-9a-f]{32}", "spanId": r"[0-9a-f]{16}", "parentSpanId": r"[0-9a-f]{16}",
        "flags": "number", "name": "text", "kind": "number", "startTimeUnixNano": r"\d{19}",
        "endTimeUnixNano": r"\d{19}", "attributes": ["KeyValue"], "events": ["Event"],
        "status": "Status",
    },
    "Event": {"timeUnixNano": r"\d{19}", "name": "text"},
    "Status": {"message": "text", "code": "number"},
    "KeyValue": {"key": "text", "value": "AnyValue"},
    "AnyValue": {"stringValue": "text", "intValue": r"-?\d+", "doubleValue": "real",
                 "boolValue": "truth", "arrayValue": "ArrayValue"},
    "ArrayValue": {"values": ["AnyValue"]},
}  # fmt: skip
TYPES = {"text": str, "number": int, "real": (int, float), "truth": bool}


def check(value, form):
    """Fails where the value is not of that form."""
    if isinstance(form, list):
        for one in value:
            check(one, form[0])
    elif form in FORMS:
        assert set(value) <= set(FORMS[form]), (form, value)
        for name, member in value.items():
            check(member, FORMS[form][name])
    elif form in TYPES:
        assert isinstance(value, TYPES[form]), (form, value)
    else:
        assert isinstance(value, str) and re.fullmatch(form, value), (form, value)


@pytest.fixture(name="session", scope="module")
def unpack_session(shared_data, tmp_path_factory):
    """A recorded session of 18 requests whose clients sent no header."""
    archive = shared_data / "field2" / "serving" / "front_end_stopped.tar.xz"
    if not archive.is_file():
        pytest.skip(f"needs data: {archive}")
    folder = tmp_path_factory.mktemp("otlp")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (session,) = folder.iterdir()
    return session


def spans_of(path):
    lines = path.read_text().splitlines()
    for line in lines:
        check(json.loads(line), "TracesData")
    return [
        span
        for line in lines
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def test_a_session_as_traces(session, run_sonde, ask):
    done = run_sonde("analyse", session, "--export-type", "otlp")
    assert done.returncode == 0, done.stderr
    path = session / "otlp_traces.jsonl"
    assert str(path) in done.stdout
    spans = spans_of(path)
    requests = [span for span in spans if span["kind"] == 2]
    assert len(requests) == 18 and len({span["spanId"] for span in spans}) == len(spans)
    expected = dict(ask(session, "SELECT request_id, client_ns FROM request_time"))
    for request in requests:
        facts = {one["key"]: next(iter(one["value"].values())) for one in request["attributes"]}
        begin, end = int(request["startTimeUnixNano"]), int(request["endTimeUnixNano"])
        assert end - begin == int(expected[facts["sonde.request_id"]])
        assert facts["sonde.link"].endswith(f"#view=serving&x.request={facts['sonde.request_id']}")
        assert request["name"].startswith(facts["gen_ai.operation.name"])
        children = [one for one in spans if one.get("parentSpanId") == request["spanId"]]
        assert {one["traceId"] for one in children} == {request["traceId"]}
        # They follow one another, and are the whole request.
        moments = [(int(one["startTimeUnixNano"]), int(one["endTimeUnixNano"])) for one in children]
        assert [at for at, _ in moments] == [begin, *(at for _, at in moments[:-1])]
        assert moments[-1][1] == end
    slow = [one for one in spans if {"key": "sonde.is_slow", "value": {"boolValue": True}}
            in one["attributes"]]  # fmt: skip
    assert len(slow) == 3


def test_the_same_session_gives_the_same_bytes(session, run_sonde, tmp_path):
    for name in ("a", "b"):
        done = run_sonde("analyse", session, "--export-type", "otlp", "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
    one, other = (tmp_path / name / session.name / "otlp_traces.jsonl" for name in ("a", "b"))
    assert one.read_bytes() == other.read_bytes() != b""


def test_what_is_no_session_has_none(run_sonde, tmp_path):
    (tmp_path / "trace.json").write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, '
                                         '"dur": 2, "pid": 1, "tid": 1}]}')  # fmt: skip
    done = run_sonde("analyse", tmp_path / "trace.json", "--export-type", "otlp", "-o",
                     tmp_path / "out")  # fmt: skip
    assert done.returncode == 1
    assert "--export-type otlp is made of a session of a server" in done.stderr
    assert not (tmp_path / "out").exists()
