"""What collectors sample of operating systems, as files for Run.extra; expectations are in the
tests. Texts in the forms of /proc and of iotop. Host files need INFO and SAMPLE.
"""

import prof_writer as prof

INFO = {"memoryTotal": 1 << 20, "cpuNums": 4, "sysClockFreq": 100,
        "netCard": [{"netCardName": "eth0", "speed": 1000},
                    {"netCardName": "eth1", "speed": -1}]}  # fmt: skip
SAMPLE = {"host_disk_freq": 50}
MS = 1_000_000


def at(ms):
    """Nanoseconds of the host's monotonic clock."""
    return prof.MONO_NS + ms * MS


def thread(tid, user, system, processor):
    """A line of /proc/<pid>/task/<tid>/stat, whose name has blanks."""
    rest = ["S", *["0"] * 10, str(user), str(system), *["0"] * 23, str(processor), "0"]
    return f"{tid} (a name) {' '.join(rest)}\n"


def processors():
    """Three samples, a second apart: one thread works on 2 and on 3, one begins late."""
    samples = [
        (0, 100.0, [thread(11, 10, 5, 2), thread(12, 0, 0, 3)]),
        (1000, 101.0, [thread(11, 40, 15, 2), thread(12, 10, 0, 3)]),
        (2000, 102.0, [thread(11, 40, 15, 2), thread(12, 10, 50, 2), thread(13, 9, 9, 1)]),
    ]
    return "".join(f"time {at(ms)}\n{up} 0\n{''.join(lines)}" for ms, up, lines in samples)


def host():
    """Use by the process: processors, memory, disk, network."""
    pages = (1000, 2000, 2621)
    memory = "".join(f"{at(10 * k)} 9999 {n} 10 1 0 8 0\n" for k, n in enumerate(pages))
    row = "10:00:0{} 4200 be/4 root {} K/s {} M/s 0.00 % {} % python3\n"
    disk = (f"start_time {at(5)}\nTIME PID PRIO USER READ WRITE SWAPIN IO COMMAND\n"
            + row.format(1, "12.50", "0.50", "3.25")
            + row.format(2, "0.00", "0.00", "0.00"))  # fmt: skip
    card = "{}: {} 1 0 0 0 0 0 0 {} 1 0 0 0 0 0 0\n"
    network = "".join(
        f"time {at(ms)}\n" + card.format("eth0", received, sent) + card.format("eth1", 7, 7)
        for ms, received, sent in ((0, 1000, 500), (500, 626_000, 500), (1000, 626_000, 500))
    )
    files = {"host_cpu": processors(), "host_mem": memory, "host_disk": disk,
             "host_network": network}  # fmt: skip
    return {("host", f"{name}.data"): text.encode() for name, text in files.items()}


def os_calls():
    """What perf trace and ltrace print of two threads; begins by clocks of their own."""
    system = (
        "     7.250 ( 0.011 ms): python3/4200 futex(uaddr: 0x7f, op: WAKE, val: 1) = 0\n"
        "     8.000 ( 1.500 ms): a name/x/4242 poll(ufds: 0x7f, nfds: 1) = 1\n"
        "         ? (         ): python3/4242  ... [continued]: read()) = 5\n"
        "     9.500 ( 0.250 ms): ioctl(fd: 3) = 0\n"
    )
    threads = (
        "[pid 4200] 1700.000100 libpthread.so.0->pthread_once(0x1, 0x2) = 0 <0.000050>\n"
        "[pid 4242] 1700.001100 libpthread.so.0->pthread_join(0x7f, 0) = 0 <0.000250>\n"
        "\n"
        "[pid 4242] 1700.002100 <... pthread_cond_wait resumed> ) = 0 <0.100000>\n"
        "[pid 4242] 1700.003100 --- SIGCHLD (Child exited) ---\n"
    )
    return {("host", "host_syscall.data"): system.encode(),
            ("host", "host_pthreadcall.data"): threads.encode()}  # fmt: skip


def stat(name, user, system, idle, waiting):
    """A line of /proc/stat."""
    return f"{name} {user} 0 {system} {idle} {waiting} 0 0 0 0 0\n"


def system(moment, prefix, suffix):
    """Processors and memory of a system, and of process 4300; moments by `moment` of ms."""
    times = "".join(
        f"TimeStamp:{moment(ms)}\n" + stat("cpu ", *total) + stat("cpu1", *one) + "\n"
        for ms, total, one in ((0, (100, 50, 800, 50), (10, 5, 80, 5)),
                               (10, (150, 75, 900, 75), (10, 15, 90, 25)))
    )  # fmt: skip
    memory = "".join(
        f"TimeStamp:{moment(ms)}\nMemTotal:       1000 kB\nMemFree:         {free} kB\n"
        "SwapTotal: 5 kB\nHugePages_Total:  3\n\n"
        for ms, free in ((0, 600), (10, 400)))  # fmt: skip
    own = "".join(
        f"TimeStamp:{moment(ms)}\n4300 (py (x)) S {'0 ' * 10}{user} 5 1 0 20 0\n"
        f"ProcessName:python3\n" + stat("cpu", total, 0, 0, 0) + "\n"
        for ms, user, total in ((0, 10, 1000), (10, 30, 1100)))  # fmt: skip
    pages = f"TimeStamp:{moment(10)}\nProcessName:python3\n500 300 100 1 0 99 0\n\n"
    names = {"cpu": ("SystemCpuUsage", "host_sys_cpu"), "mem": ("Memory", "host_sys_mem")}
    which = 1 if prefix == "host" else 0
    files = {names["cpu"][which]: times, names["mem"][which]: memory, "4300-CpuUsage": own,
             "4300-Memory": pages}  # fmt: skip
    return {(prefix, f"{name}.data{suffix}"): text.encode() for name, text in files.items()}


def of_device(ms):
    """The device's own clock, which begins at 77."""
    return 77 + ms * MS


def with_garbage(name):
    """The samples of a host; in the middle of a file are lines that are none."""
    files = host()
    whole = files["host", name]
    files["host", name] = whole[: len(whole) // 2] + b"\n\xff\xff \xff ) 1\n" + whole[:40]
    return files
