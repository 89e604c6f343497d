"""How the tests share the machine when several processes run them, as `make test` does with `-n 2`.

A test that measures time, or counts what the whole machine holds, is marked `alone`: one process runs all of these,
behind everything else, and none of them runs beside another test. Other tests of a module stay in one process and in
their order, for the fixtures that they share.
"""

from __future__ import annotations

import fcntl
import json
import tempfile
from collections.abc import Generator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling
    from xdist.workermanage import WorkerController

#: A folder that all processes of one run know.
TOGETHER = pytest.StashKey[Path]()


class Share:
    """What a process has of the machine, a part or all of it, until it ends."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("w")
        self._kind = fcntl.LOCK_UN

    def take(self, kind: int) -> None:
        """Wait for `LOCK_SH` or `LOCK_EX`."""
        if kind != self._kind:
            fcntl.flock(self._file, kind)
            self._kind = kind

    def give_up(self) -> None:
        """End it."""
        self._file.close()


SHARE = pytest.StashKey[Share]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder, or take the one of the process that started this one."""
    started_by = getattr(config, "workerinput", None)
    if started_by is None:
        folder = tempfile.TemporaryDirectory(prefix="qs-tests-")
        config.add_cleanup(folder.cleanup)
    config.stash[TOGETHER] = Path(folder.name if started_by is None else started_by["together"])
    config.stash[SHARE] = Share(config.stash[TOGETHER] / "lock")
    config.add_cleanup(config.stash[SHARE].give_up)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Tell a process that will run tests which folder it is."""
    node.workerinput["together"] = str(node.config.stash[TOGETHER])


def is_alone(item: pytest.Item) -> bool:
    """Whether no other test may run beside this one."""
    return item.get_closest_marker("alone") is not None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what is alone last, when the other processes run out of tests; write down what belongs together."""
    items.sort(key=is_alone)
    folder = config.stash[TOGETHER]
    # Every process finds the same, and the last one to say so may be read at once.
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
        json.dump({item.nodeid: _group(item) for item in items}, file)
    Path(file.name).replace(folder / "groups")


def _group(item: pytest.Item) -> str:
    """The group that is alone, one that the marker `together` names, or the module."""
    if is_alone(item):
        return "alone"
    together = item.get_closest_marker("together")
    return str(together.args[0]) if together else item.nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Hand out one group after the other, in the order of collection."""
    from xdist.scheduler import LoadScopeScheduling

    class InGroups(LoadScopeScheduling):
        @cached_property
        def groups(self) -> dict[str, str]:
            groups: dict[str, str] = json.loads((config.stash[TOGETHER] / "groups").read_bytes())
            return groups

        def _split_scope(self, nodeid: str) -> str:
            return self.groups[nodeid]

        def _assign_work_unit(self, node: WorkerController) -> None:
            super()._assign_work_unit(node)
            if self.workqueue:
                return
            # A process keeps its last test back until it knows what comes next, and who is alone waits for its end.
            for each in self.nodes:
                if not each.shutting_down:
                    each.shutdown()

    config.option.loadscopereorder = False
    return InGroups(config, log)


# Outside of the time limit: waiting for others is no fault of the test.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test when the process has its share of the machine."""
    item.config.stash[SHARE].take(fcntl.LOCK_EX if is_alone(item) else fcntl.LOCK_SH)
    return (yield)
