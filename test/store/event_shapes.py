"""Small traces in the shapes that programs write, made for the tests: name -> (file name, text).

Each imitates what one producer does differently from the others: forms of numbers, ids and texts,
what stands around the list of events, which phases occur.
"""

import json


def chrome_array():
    """about:tracing: an array without its end, thread clocks, ends without names."""
    return (
        '[{"name":"process_name","ph":"M","pid":1234,"tid":0,"args":{"name":"Browser"}},\n'
        '{"name":"thread_name","ph":"M","pid":1234,"tid":7,"ts":null,"args":{"name":"Main"}},\n'
        '{"pid":1234,"tid":7,"ts":100,"ph":"B","cat":"toplevel","name":"Run","tts":90,'
        '"args":{"src":"a.cc"}},\n'
        '{"pid":1234,"tid":7,"ts":110,"ph":"B","cat":"cc","name":"Paint","tts":95,"args":{}},\n'
        '{"pid":1234,"tid":7,"ts":150,"ph":"E","cat":"cc","name":"Paint","tts":99,'
        '"args":{"tiles":4}},\n'
        '{"pid":1234,"tid":7,"ts":155.5,"ph":"E","tts":100},\n'
        '{"pid":1234,"tid":7,"ts":200,"ph":"X","cat":"cc","name":"Draw","dur":30,"tdur":20,'
        '"tts":110,"args":{}},\n'
        '{"pid":1234,"tid":7,"ts":205,"ph":"I","s":"t","cat":"cc","name":"Vsync","args":{}},\n'
        '{"pid":1234,"tid":7,"ts":300,"ph":"B","cat":"toplevel","name":"Unfinished"},'
    )


def numbers():
    """Every form of a number: exponents, texts, signs, many decimals, digits beyond a double."""
    events = [
        '{"ph":"X","name":"exp","pid":1,"tid":1,"ts":1.795262355253678e+15,"dur":2.5e1}',
        '{"ph":"X","name":"exp","pid":1,"tid":1,"ts":1.795262355353678E15,"dur":1e-3}',
        '{"ph":"X","name":"text","pid":"1","tid":"1","ts":"1795262355453678.125","dur":"0.3125"}',
        '{"ph":"X","name":"digits","pid":1,"tid":1,"ts":2007199254740993.001,"dur":0.0005}',
        '{"ph":"X","name":"digits","pid":1,"tid":1,"ts":2007199254740999,"dur":0.0015}',
        '{"ph":"X","name":"remains","pid":1,"tid":1,"ts":10.5,"dur":8.460000000000003}',
        '{"ph":"X","name":"remains","pid":1,"tid":1,"ts":30.5,"dur":7.9999999999999998}',
        '{"ph":"X","name":"before","pid":1,"tid":1,"ts":-12.25,"dur":1}',
        '{"ph":"X","name":"no dur","pid":1,"tid":1,"ts":70,"dur":null}',
        '{"ph":"X","name":"zero","pid":1,"tid":1,"ts":80,"dur":0.0}',
    ]
    return '{"displayTimeUnit": "ns", "traceEvents": [\n' + ",\n".join(events) + "\n]}"


def spans():
    """Asynchronous ranges: ids of all forms, names that overlap, several processes."""
    events = []

    def span(phase, ts, name, pid=1, cat="net", **more):
        event = {"ph": phase, "ts": ts, "pid": pid, "tid": 1, "cat": cat, "name": name, **more}
        events.append(event)

    span("b", 0, "request", id="0x1f")
    span("b", 5, "body", id="0x1f")
    span("n", 6, "first byte", id="0x1f")
    span("e", 20, "request", id="0x1f")  # ends before what it holds
    span("e", 25, "body", id="0x1f")
    span("b", 0, "same id", pid=1, id=7)
    span("b", 1, "same id", pid=2, id=7)
    span("e", 10, "same id", pid=1, id=7)
    span("e", 21, "same id", pid=2, id=7)
    span("b", 2, "local", pid=3, id2={"local": "0x1"})
    span("b", 3, "local", pid=4, id2={"local": "0x1"})
    span("e", 4, "local", pid=4, id2={"local": "0x1"})
    span("e", 9, "local", pid=3, id2={"local": "0x1"})
    span("b", 2, "moves", pid=5, id2={"global": "0x9"})
    span("e", 8, "moves", pid=6, id2={"global": "0x9"})
    span("b", 1, "scoped", id="1", scope="a")
    span("b", 2, "scoped", id="1", scope="b")
    span("e", 3, "scoped", id="1", scope="b")
    span("e", 7, "scoped", id="1", scope="a")
    span("S", 1, "old form", id=70)
    span("T", 2, "old form", id=70, args={"step": "x"})
    span("F", 4, "old form", id=70)
    span("b", 50, "open", id=99)
    span("e", 60, "never begun", id=98)
    return json.dumps({"traceEvents": events})


def arrows():
    """Flows of both kinds: s, t, f, and bind_id; an id used again; an end without a begin."""
    events = [
        {"ph": "X", "name": f"work {i}", "pid": 1, "tid": i % 3, "ts": 10 * i, "dur": 8}
        for i in range(9)
    ]

    def arrow(phase, thread, ts, number, name="go", **more):
        events.append(
            {"ph": phase, "cat": "c", "name": name, "id": number, "pid": 1, "tid": thread, "ts": ts}
            | more
        )

    arrow("s", 0, 1, 1)
    arrow("t", 1, 11, 1)
    arrow("f", 2, 21, 1, bp="e")
    arrow("s", 0, 32, 1)
    arrow("f", 1, 42, 1, bp="e")
    arrow("s", 2, 51, "0x2")
    arrow("f", 0, 55, "0x2")  # without bp: the next slice
    arrow("s", 0, 2, 1, name="other")
    arrow("f", 1, 12, 1, name="other", bp="e")
    arrow("f", 1, 13, 77, bp="e")
    events[6] |= {"bind_id": "0xa", "flow_out": True}
    events[7] |= {"bind_id": "0xa", "flow_in": True, "flow_out": True}
    events[8] |= {"bind_id": "0xa", "flow_in": True}
    return json.dumps({"traceEvents": events, "stackFrames": {"1": {"name": "f"}}})


def counters():
    """Series of one counter, ids, whole numbers, texts and fractions."""
    events = [
        {"ph": "C", "name": "mem", "pid": 1, "ts": i, "args": {"a": i, "b": i / 8, "c": str(i)}}
        for i in range(50)
    ]
    events += [
        {"ph": "C", "name": "mem", "pid": 2, "ts": i, "id": "x", "args": {"a": -i}}
        for i in range(9)
    ]
    return json.dumps(events)


def other_phases():
    """Phases that become no rows: objects, memory dumps, samples, clock syncs, contexts."""
    events = [
        {"ph": phase, "name": "o", "id": "0x1", "pid": 1, "tid": 1, "ts": i, "args": {}}
        for i, phase in enumerate("NODvVP()c=")
    ]
    events.append({"ph": "X", "name": "kept", "pid": 1, "tid": 1, "ts": 1, "dur": 2})
    return json.dumps({"traceEvents": events})


def rocprof():
    """An empty first object, numbers as texts, arrows named by category alone."""
    return (
        '{ "traceEvents":[{}\n'
        ',{"args":{"name":"2 CPU HSA API"},"ph":"M","pid":"2","name":"process_name",'
        '"sort_index":"0"}\n'
        ',{"ph":"X","name":"hsa_init","pid":"2","tid":"5","ts":"1000.125","dur":"12",\n'
        '  "args":{"BeginNs":"1000125","EndNs":"1012125","pid":"2","Name":"a \\"b\\" \\u00e9"}}\n'
        ',{"ts":"1001","ph":"s","cat":"DataFlow","id":"1","pid":"2","tid":"5","name":"dep"}\n'
        ',{"ph":"X","name":"gemm","pid":"6","tid":"0","ts":"1020","dur":"7","args":{}}\n'
        ',{"ts":"1020","ph":"t","cat":"DataFlow","id":"1","pid":"6","tid":"0","name":"dep"}\n'
        '],\n"otherData":{}\n}\n'
    )


def tensorflow():
    """JAX and TensorFlow: an empty last object, sort indices, floating-point times."""
    events = [
        {"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
        {"ph": "M", "pid": 701, "name": "process_sort_index", "args": {"sort_index": 701}},
        {"ph": "M", "pid": 701, "tid": 3, "name": "thread_name", "args": {"name": "python"}},
        {"ph": "X", "pid": 701, "tid": 3, "ts": 0.17, "dur": 5.234, "name": "PjitFunction(f)"},
        {"ph": "X", "pid": 701, "tid": 3, "ts": 1.0049999999999999, "dur": 2.7175, "name": "Exec",
         "args": {"long_name": "x" * 5000, "group_id": "1"}},
        {},
    ]  # fmt: skip
    return json.dumps(
        {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events}
    )


def text_forms():
    """A byte order mark, CR LF, tabs, keys in any order, escapes, doubled and unknown keys."""
    return (
        "\ufeff\r\n\t[\r\n"
        '\t{ "args" : { "ph" : "Z", "n" : {"ph":"X","name":"inside","ts":1} },\r\n'
        '\t  "dur" : 3 , "name" : "\\u00fcber\\/\\"quoted\\" \\ud83d\\ude00", "ts" : 4,\r\n'
        '\t  "ph" : "X", "tid" : "main", "pid" : "Traces", "unknown" : [1, {"a": "]}"}] },\r\n'
        '\t{"ph":"X","name":"a\\nb","pid":"Traces","tid":"main","ts":20,"dur":1,"cname":"x"},\r\n'
        '\t{"ph":"X","name":"","pid":"Traces","tid":"main","ts":30,"dur":1},\r\n'
        '\t{"ph":"i","name":"mark","s":"g","pid":"Traces","tid":"main","ts":31}\r\n'
        "\t]\r\n"
    )


def kineto_doubles():
    """torch 2.6 and later: microseconds with nanoseconds behind the point, base time at the end."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 5, "tid": 5,
         "ts": 4781733.001 + i, "dur": 0.999, "args": {"External id": i + 1, "Ev Idx": i}}
        for i in range(200)
    ]  # fmt: skip
    events += [
        {"ph": "s", "id": 3, "pid": 5, "tid": 5, "ts": 4781734.001, "cat": "fwdbwd",
         "name": "fwdbwd"},
        {"ph": "f", "id": 3, "pid": 5, "tid": 5, "ts": 4781740.001, "cat": "fwdbwd",
         "name": "fwdbwd", "bp": "e"},
    ]  # fmt: skip
    return json.dumps(
        {"schemaVersion": 1, "deviceProperties": [], "traceEvents": events, "traceName": "t.json",
         "displayTimeUnit": "ms", "baseTimeNanoseconds": 1795262355253678999}
    )  # fmt: skip


def kineto_devices():
    """Devices other than CUDA: their categories, labels and streams."""
    events = []
    for number, (label, runtime, kernel, copy) in enumerate(
        [
            ("GPU 0", "cuda_runtime", "kernel", "gpu_memcpy"),  # ROCm writes the same names
            ("XPU 0", "xpu_runtime", "kernel", "gpu_memcpy"),
            ("HPU 0", "hpu_op", "hpu_op", "gpu_memcpy"),
            ("MTIA 0", "mtia_runtime", "mtia_ccp_events", "gpu_memcpy"),
            ("NPU 0", "privateuse1_runtime", "kernel", "gpu_memset"),
        ]
    ):
        base = number * 1000
        events += [
            {"ph": "M", "name": "process_labels", "pid": number, "tid": 0, "ts": 0,
             "args": {"labels": label}},
            {"ph": "M", "name": "thread_name", "pid": number, "tid": 7, "ts": 0,
             "args": {"name": "stream 7 "}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 99, "tid": 99,
             "ts": base + 1, "dur": 50, "args": {"External id": base + 1}},
            {"ph": "X", "cat": runtime, "name": "launch", "pid": 99, "tid": 99, "ts": base + 2,
             "dur": 5, "args": {"correlation": base + 7, "External id": base + 1}},
            {"ph": "s", "id": base + 1, "pid": 99, "tid": 99, "ts": base + 2, "cat": "ac2g",
             "name": "ac2g"},
            {"ph": "X", "cat": kernel, "name": f"gemm on {label}", "pid": number, "tid": 7,
             "ts": base + 10.5, "dur": 30.125,
             "args": {"correlation": base + 7, "External id": base + 1, "device": number,
                      "stream": 7}},
            {"ph": "f", "id": base + 1, "pid": number, "tid": 7, "ts": base + 10.5, "cat": "ac2g",
             "name": "ac2g", "bp": "e"},
            {"ph": "X", "cat": copy, "name": "Memcpy HtoD (Host -> Device)", "pid": number,
             "tid": 7, "ts": base + 60, "dur": 2, "args": {"bytes": 64, "correlation": 0}},
        ]  # fmt: skip
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


SHAPES = {
    "chrome_array": ("trace.json", chrome_array()),
    "numbers": ("numbers.json", numbers()),
    "spans": ("spans.trace", spans()),
    "arrows": ("arrows.json", arrows()),
    "counters": ("counters.json", counters()),
    "other_phases": ("dump.json", other_phases()),
    "rocprof": ("results.json", rocprof()),
    "tensorflow": ("host.trace.json.gz", tensorflow()),
    "text_forms": ("text_forms.json", text_forms()),
    "kineto_doubles": ("worker0.pt.trace.json", kineto_doubles()),
    "kineto_devices": ("devices.json", kineto_devices()),
    "unusual_name": ("timeline.2026-11-21.profile", tensorflow()),
    "unusual_packed": ("timeline.bin", kineto_doubles()),
}
