"""Check that histories are linearizable: `python -m tests.system.availability.histories FILE…`.

A file contains lines in the format of Jepsen, in order of time: `NAME - PROCESS :invoke|:ok|:fail|:info
:read|:write|:cas VALUE`. Each name is a separate register, which is initially empty (`nil`). A `:cas [from to]` or
`:cas [from|from to]` ends with `:fail` if the register has another value. An operation that ends with `:info`, or does
not end, may take effect at any time after its invocation, or not at all.

If every history is linearizable, the exit status is 0. Otherwise, it is 1, and the first history that is not
linearizable is printed.

The search is the algorithm of Wing and Gong: it takes an operation that no other operation precedes, and continues with
the remaining operations. As in Lowe's improvement, it visits each pair of taken operations and register value once.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"(.*) - (\d+)\s+:(invoke|ok|fail|info)\s+:(read|write|cas)\s+(.*?)\s*")


@dataclass(slots=True)
class Operation:
    kind: str
    value: str
    outcome: str = "info"  # until it returns


Events = list[tuple[int, bool]]  # the number of an operation, and True for its return, False for its call


class History:
    """The operations on one register, and the order of their calls and returns."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._operations: list[Operation] = []
        self._events: Events = []
        self._open: dict[str, int] = {}

    def add(self, process: str, event: str, kind: str, value: str) -> None:
        """Add an event of a process, which runs one operation at a time."""
        self.lines.append(f"{process} :{event} :{kind} {value}")
        if event == "invoke":
            self._open[process] = len(self._operations)
            self._events.append((len(self._operations), False))
            self._operations.append(Operation(kind, value))
            return
        number = self._open.pop(process)
        if event == "ok" or (event == "fail" and kind == "cas"):
            operation = self._operations[number]
            operation.outcome = event
            operation.value = value if kind == "read" else operation.value
            self._events.append((number, True))

    def is_linearizable(self) -> bool:
        """Return whether a single order of the operations explains all responses."""
        # A read without a result does not restrict the order.
        without_result = {
            at
            for at, operation in enumerate(self._operations)
            if (operation.kind, operation.outcome) == ("read", "info")
        }
        unknown = [
            at
            for at, operation in enumerate(self._operations)
            if operation.outcome == "info" and at not in without_result
        ]
        events = [event for event in self._events if event[0] not in without_result] + [(at, True) for at in unknown]
        return _search(self._operations, events)


def _step(value: str, operation: Operation) -> str | None:
    """Return the register's value after an operation, or None if the operation's outcome is impossible."""
    if operation.kind == "write":
        return operation.value
    if operation.kind == "read":
        return value if operation.value == value else None
    before, after = operation.value.strip("[]").split()
    matches = value in before.split("|")
    if operation.outcome == "info":
        return after if matches else value
    if matches != (operation.outcome == "ok"):
        return None
    return after if matches else value


def _search(operations: list[Operation], events: Events) -> bool:
    # A doubly linked list of the remaining events; 0 is its head.
    following = [*range(1, len(events) + 1), 0]
    previous = [len(events), *range(len(events))]
    returns = {number: at for at, (number, is_return) in enumerate(events, 1) if is_return}

    def take(*places: int) -> None:
        for at in places:
            following[previous[at]], previous[following[at]] = following[at], previous[at]

    def put_back(*places: int) -> None:
        for at in places:
            following[previous[at]] = previous[following[at]] = at

    value, taken, at = "nil", 0, following[0]
    seen: set[tuple[int, str]] = set()
    way: list[tuple[int, str]] = []
    while following[0]:
        number, is_return = events[at - 1]
        if is_return:  # all candidates were tried: backtrack
            if not way:
                return False
            at, value = way.pop()
            number = events[at - 1][0]
            taken &= ~(1 << number)
            put_back(returns[number], at)
            at = following[at]
            continue
        next_value = _step(value, operations[number])
        if next_value is not None and (taken | 1 << number, next_value) not in seen:
            taken |= 1 << number
            seen.add((taken, next_value))
            way.append((at, value))
            take(at, returns[number])
            value, at = next_value, following[0]
        else:
            at = following[at]
    return True


def read(lines: Iterable[str]) -> dict[str, History]:
    """Parse lines into histories by name. Raises ValueError for a line of another format."""
    result: dict[str, History] = {}
    for line in lines:
        match = _LINE.fullmatch(line.rstrip("\n"))
        if match is None:
            raise ValueError(f"This line is not in the format of a history: {line!r}")
        name, *event = match.groups()
        result.setdefault(name, History()).add(*event)
    return result


def main(paths: list[str]) -> int:
    """Check files; return the exit status."""
    for path in paths:
        with Path(path).open(encoding="utf-8") as file:
            histories = read(file)
        for name, history in histories.items():
            if not history.is_linearizable():
                print(f"{path}: {name} is not linearizable:", *history.lines, sep="\n")
                return 1
        print(f"{path}: {len(histories)} linearizable")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
