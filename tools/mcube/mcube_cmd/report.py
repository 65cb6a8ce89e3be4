# SPDX-License-Identifier: GPL-2.0
"""Steps of 'mcube report': run them, watch that they get on, and write one file of all.

A step is a command. It ends by itself, or is stalled: for STALL seconds it has started no
program and written nothing. A step that fails is recorded, and the next one runs.
"""

import contextlib
import io
import json
import os
import platform
import re
import signal
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

from . import host
from .term import Failure

STALL = 600.0
LOOK = 0.5              # seconds between looks at a step
KEPT = 64 << 10         # bytes of a step's output that are kept, the last ones
# Host names that are words of these reports.
WORDS = ("localhost", "mcube", "debian", "linux", "root")
# What names processes and cgroups of users, as settings or in what a command prints.
PRIVATE = ("pids", "cgroup", "targets", "comm", "explained")


def ignore_signals():
    """From here on nothing may keep the settings from coming back."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def raw(path):
    """Text of a file of this machine's /proc; '' if it is gone."""
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def children(pid):
    """PIDs of all processes below a process."""
    below, out = {}, [pid]
    for name in filter(str.isdigit, os.listdir("/proc")):
        if m := re.search(r"\) \S (\d+)", raw(f"/proc/{name}/stat")):
            below.setdefault(int(m[1]), []).append(int(name))
    for at in out:
        out += below.get(at, [])
    return out[1:]


def sign_of_life(pid):
    """What changes while a step gets on: its processes, and the bytes that they wrote."""
    pids = [pid, *children(pid)]
    return pids, sum(int(m[1]) for p in pids
                     if (m := re.search(r"^wchar: (\d+)", raw(f"/proc/{p}/io"), re.M)))


def end(process):
    """Kill a step and what it started; a step gets time to tidy up first."""
    # Programs of 'mcube corun' have sessions of their own, which it ends itself.
    left = children(process.pid)
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        os.killpg(process.pid, signal.SIGINT)
        process.wait(20)
    process.kill()
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def watch(process, stall):
    """Wait for a step, as long as it gets on: does it?"""
    last, since = None, time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK)
            return True
        if (now := sign_of_life(process.pid)) != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > stall:
            return False


def run(argv, stall=STALL):
    """Run a command: {"status", "why", "seconds", "out", "err", "exit"}.

    status is ok, failed, stalled, refused or interrupted; failed is refined by judge().
    """
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(  # pylint: disable=consider-using-with
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        except OSError as e:
            return {"status": "refused", "why": f"{argv[0]}: {os.strerror(e.errno)}",
                    "seconds": 0.0, "out": "", "err": ""}
        status, why = "ok", ""
        try:
            if not watch(process, stall):
                end(process)
                status, why = "stalled", f"nothing happened for {stall:.0f} s"
            elif process.returncode:
                status, why = "failed", f"status {process.returncode}"
        except KeyboardInterrupt:
            ignore_signals()
            end(process)
            status, why = "interrupted", "by a signal"
        for f in (out, err):
            f.seek(max(0, f.seek(0, os.SEEK_END) - (1 << 24)))
        return {"status": status, "why": why, "seconds": round(time.monotonic() - begin, 1),
                "out": out.read().decode("utf-8", "replace"),
                "err": err.read().decode("utf-8", "replace"), "exit": process.returncode}


def judge(got):
    """The record of a step: its JSON if it printed any, else the end of its text.

    A command that says what it lacks and what to do has refused, not failed.
    """
    record = {k: got[k] for k in ("status", "why", "seconds")}
    try:
        record["data"] = json.loads(got["out"])
        if got["status"] == "failed" and got["exit"] == 1:
            record.update(status="ok", why="")
    except ValueError:
        if text := (got["out"] + got["err"])[-KEPT:]:
            record["output"] = text
    if record["status"] == "failed":
        if m := re.search(r"^mcube \w+: error: (.*?)(?:^what to do: (.*))?\Z", got["err"],
                          re.S | re.M):
            record.update(status="refused", why=m[1].strip())
            if m[2]:
                record["next"] = m[2].strip()
        elif "usage: mcube" in got["err"]:
            record.update(status="refused", why="this mcube command has no such subcommand")
    return record


def counted(step):
    """The record of a kernel test, whose runner returns 0 although a test failed."""
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for bad, skip in re.findall(r"^[# ]*(not )?ok (?:.*(# SKIP))?", step.get("output", ""), re.M):
        count["failed" if bad else "skipped" if skip else "passed"] += 1
    step["results"] = count
    if step["status"] == "ok" and (count["failed"] or not sum(count.values())):
        step.update(status="failed", why=f"{count['failed']} failed" if count["failed"]
                    else "it gave no result")
    return step


def scrub(data, names=(), paths=()):
    """Anything that JSON holds, without what names the machine or its users."""
    node = platform.node()
    words = {w for w in (node, node.partition(".")[0], *names) if w and w.lower() not in WORDS}
    instead = [(re.escape(str(p)), "DIR") for p in sorted(paths, key=lambda p: -len(str(p)))]
    instead += [(rf"(?<![\w.-]){re.escape(w)}(?![\w-])", "HOST")
                for w in sorted(words, key=len, reverse=True)]
    instead.append((r"/home/[^/\s'\"]+", "/home/USER"))

    def clean(x):
        if isinstance(x, str):
            for pattern, word in instead:
                x = re.sub(pattern, word, x)
        elif isinstance(x, dict):
            return {clean(str(k)): clean(v) for k, v in x.items() if k not in PRIVATE}
        return [clean(y) for y in x] if isinstance(x, list) else x

    return clean(data)


def as_text(data):
    """The report for people."""
    lines = [f"mcube report, {data['machine']['kernel']}, {data['machine']['cpu']['model name']}",
             ""]
    for s in data["steps"]:
        why = f": {s['why']}" if s["why"] else ""
        lines.append(f"{s['status']:12}{s['name']:20}{s['seconds']:7.0f} s{why}")
        if s.get("next"):
            lines.append(f"{'':12}what to do: {s['next']}")
    return "\n".join([*lines, "", "report.json has all figures.", ""])


def write(path, data):
    """Write the report, whole or not at all."""
    members = {"report.txt": as_text(data), "report.json": json.dumps(data, indent=1) + "\n"}
    part = Path(path).with_name(f".{Path(path).name}.part")
    try:
        with tarfile.open(part, "w:gz") as tar:
            for name, text in members.items():
                info = tarfile.TarInfo(f"mcube-report/{name}")
                info.size, info.mtime = len(text.encode()), int(time.time())
                tar.addfile(info, io.BytesIO(text.encode()))
        part.replace(path)
    except OSError as e:
        part.unlink(missing_ok=True)
        raise Failure(f"{path}: cannot be written: {os.strerror(e.errno)}",
                      "name a file in a directory that you may write to, by --output") from e


def log_lines():
    """What mcube wrote to the kernel's log since boot, and lines that look like its faults."""
    try:
        fd = os.open(host.at("/dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return []
    out = [text for text in host.log_texts(fd)
           if re.match(r"mcube[:_]|WARNING: .*mcube|BUG: .*mcube", text)]
    os.close(fd)
    return out[-200:]
