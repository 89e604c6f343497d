"""Children end when told, at their deadline, and with us; nothing of their tree is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from backends.lives import LIVES, End
from backends.qmd.child import MAX_STDERR_BYTES, MAX_STDOUT_BYTES, Child, Surroundings, run
from tests.backends.qmd.making import alive, eventually, group
from tests.running import processes_of


def here(tmp_path: Path) -> Surroundings:
    return Surroundings(environment={"PATH": os.defpath}, folder=tmp_path)


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def descriptors() -> set[str]:
    return {str(entry) for entry in Path("/dev/fd").iterdir()}


def test_output_and_status_come_back(tmp_path: Path) -> None:
    """The status is the command's own, and both streams are kept apart."""
    done = asyncio.run(run(shell("echo out; echo err >&2; exit 7"), here(tmp_path), timeout_s=10))
    assert (done.status, done.stdout, done.stderr, done.timed_out) == (7, b"out\n", b"err\n", False)


def test_a_signal_shows_in_the_status(tmp_path: Path) -> None:
    """A crash at exit is 128 and the signal's number, as shells say it."""
    done = asyncio.run(run(shell("echo out; kill -ABRT $$"), here(tmp_path), timeout_s=10))
    assert (done.status, done.stdout) == (134, b"out\n")


def test_standard_input_is_empty(tmp_path: Path) -> None:
    """A command that reads its input meets the end at once."""
    assert asyncio.run(run(["cat"], here(tmp_path), timeout_s=10)).status == 0


def test_the_environment_is_only_what_was_given(tmp_path: Path) -> None:
    """Nothing of our own environment leaks into a child."""
    done = asyncio.run(run(["env"], here(tmp_path), timeout_s=10))
    names = {line.partition(b"=")[0] for line in done.stdout.splitlines()}
    assert names <= {b"PATH", b"PWD", b"SHLVL", b"_", b"OLDPWD"}


def test_floods_are_drained_and_capped(tmp_path: Path) -> None:
    """A child that prints more than is kept still ends by itself."""
    script = "head -c 6000000 /dev/zero; head -c 200000 /dev/zero | tr '\\0' x >&2; echo end >&2"
    done = asyncio.run(run(shell(script), here(tmp_path), timeout_s=30))
    assert (len(done.stdout), len(done.stderr)) == (MAX_STDOUT_BYTES, MAX_STDERR_BYTES)
    assert (done.truncated, done.timed_out) == (True, False)
    assert done.stderr.endswith(b"end\n")


@pytest.mark.parametrize(
    ("script", "timeout_s", "how"),
    [
        ("exit 0", 10, End.OK),
        ("exit 3", 10, End.FAILED),
        ("kill -KILL $$", 10, End.KILLED),
        ("echo; sleep 600", 0.05, End.ENDED),
    ],
)
def test_every_life_is_counted_with_its_end(tmp_path: Path, script: str, timeout_s: float, how: End) -> None:
    """By a verb; once, however often it is ended."""
    before, started = LIVES.ended.copy(), LIVES.started.total()
    asyncio.run(run(shell(script), here(tmp_path), timeout_s=timeout_s))
    assert LIVES.ended - before == {("c", how): 1}
    assert LIVES.started.total() == started + 1


@pytest.mark.alone
def test_a_deadline_ends_the_whole_tree(tmp_path: Path) -> None:
    """A deaf child and a grandchild that holds the pipes are both gone when `run` returns."""
    script = f"trap '' TERM; sleep 600 & echo $! > {tmp_path}/pids; echo $$ >> {tmp_path}/pids; wait; wait"
    done = asyncio.run(run(shell(script), here(tmp_path), timeout_s=0.5))
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert done.timed_out
    assert eventually(lambda: not any(alive(pid) for pid in pids))


def test_a_grandchild_that_left_the_group_is_ended_too(tmp_path: Path) -> None:
    """Descendants are recorded before the kill, so that a session of their own does not save them."""
    code = f"import os,time; os.setsid(); open({str(tmp_path / 'pid')!r},'w').write(str(os.getpid())); time.sleep(600)"
    script = f'{sys.executable} -S -c "{code}" & wait'

    async def main() -> None:
        child = await Child.spawn(shell(script), here(tmp_path), lambda _: None)
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()):
            await asyncio.sleep(0.02)
        await child.end()

    asyncio.run(main())
    assert eventually(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_a_left_behind_grandchild_does_not_hold_the_answer_up(tmp_path: Path) -> None:
    """The command ended, its answer is whole: a grandchild with the pipe open is not waited for, but ended."""
    done = asyncio.run(run(shell(f"sleep 600 & echo $! > {tmp_path}/pid; echo done"), here(tmp_path), timeout_s=30))
    assert (done.stdout, done.timed_out) == (b"done\n", False)
    assert eventually(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_cancelling_ends_the_tree(tmp_path: Path) -> None:
    """A caller that gives up leaves nothing behind."""

    async def main() -> None:
        task = asyncio.create_task(run(shell(f"echo $$ > {tmp_path}/pid; sleep 600"), here(tmp_path), timeout_s=600))
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()):
            await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    assert eventually(lambda: not alive(int((tmp_path / "pid").read_text())))


@pytest.mark.parametrize("turns", range(8))
def test_a_caller_that_gives_up_while_its_child_starts_leaves_nothing_behind(tmp_path: Path, turns: int) -> None:
    """At whatever turn of the loop, and although a grandchild holds the pipes."""
    surroundings = Surroundings(environment={"PATH": os.defpath, "HERE": str(tmp_path)}, folder=tmp_path)

    async def main() -> None:
        task = asyncio.create_task(run(shell("sleep 600 & wait"), surroundings, timeout_s=600))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=30)
        assert task.cancelled()

    asyncio.run(main())
    assert eventually(lambda: not processes_of(str(tmp_path)))


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    """Runs, time-outs and missing commands give every descriptor back."""

    async def main() -> tuple[set[str], set[str]]:
        await run(["true"], here(tmp_path), timeout_s=10)
        before = descriptors()
        for argv, timeout_s in ((["true"], 10.0), (["sleep", "600"], 0.05), (["/no/such/program"], 10.0)):
            await run(argv, here(tmp_path), timeout_s=timeout_s)
        await asyncio.sleep(0)
        return before, descriptors()

    before, after = asyncio.run(main())
    assert len(after) == len(before)


def test_the_tree_dies_with_us_when_we_are_killed(tmp_path: Path) -> None:
    """After SIGKILL to the parent no child and no grandchild lives on, deaf ones included."""
    program = f"""
        import asyncio, os
        from pathlib import Path
        from backends.qmd.child import Child, Surroundings

        async def main():
            script = "trap '' TERM HUP; sleep 600 & echo ready; wait; wait"
            where = Surroundings(environment={{"PATH": os.defpath}}, folder=Path({str(tmp_path)!r}))
            seen = asyncio.Event()
            child = await Child.spawn(["/bin/sh", "-c", script], where, lambda _: seen.set())
            await seen.wait()
            print(child.pid, flush=True)
            await asyncio.sleep(600)

        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as parent:
        assert parent.stdout is not None
        leader = int(parent.stdout.readline())
        assert len(group(leader)) >= 4
        parent.send_signal(signal.SIGKILL)
    assert eventually(lambda: group(leader) == [])


def test_maintenance_runs_at_a_lower_priority_without_any_tool(tmp_path: Path) -> None:
    """A PATH without coreutils is no reason to fail."""
    wanted = os.getpriority(os.PRIO_PROCESS, 0) + 7
    script = f"import os\nwhile os.getpriority(os.PRIO_PROCESS, 0) != {wanted}: pass\nprint('lowered')"

    async def main() -> bytes:
        surroundings = Surroundings(environment={"PATH": str(tmp_path)}, folder=tmp_path)
        return (await run([sys.executable, "-S", "-c", script], surroundings, timeout_s=20, niceness=7)).stdout

    assert asyncio.run(main()) == b"lowered\n"
