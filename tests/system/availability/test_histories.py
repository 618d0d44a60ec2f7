"""The linearizability check returns the right verdict for known histories."""

import json

import pytest

from tests.processes import ROOT
from tests.system.availability import histories

RECORDED = ROOT.parent / "shared" / "histories"

# Each event is PROCESS EVENT KIND VALUE. Events are in order of time.
LINEARIZABLE = {
    "no event": "",
    "a read after a write": "0 invoke write 1; 0 ok write 1; 1 invoke read nil; 1 ok read 1",
    "a read during a write returns the old value": "0 invoke write 1; 1 invoke read nil; 1 ok read nil; 0 ok write 1",
    "a read during a write returns the new value": "0 invoke write 1; 1 invoke read nil; 1 ok read 1; 0 ok write 1",
    "one of two racing changes succeeds": "0 invoke write 1; 0 ok write 1; 1 invoke cas [1 2]; 2 invoke cas [1 3];"
    "1 ok cas [1 2]; 2 fail cas [1 3]; 0 invoke read nil; 0 ok read 2",
    "an unknown write took effect": "0 invoke write 1; 0 info write timed-out; 1 invoke read nil; 1 ok read 1",
    "an unknown write takes effect later": "0 invoke write 1; 0 info write timed-out; 1 invoke read nil; 1 ok read nil;"
    "2 invoke read nil; 2 ok read 1",
    "an unfinished write took no effect": "0 invoke write 1; 1 invoke read nil; 1 ok read nil",
    "an unknown change found another value": "0 invoke cas [1 2]; 0 info cas timed-out; 1 invoke write 3;"
    "1 ok write 3; 2 invoke read nil; 2 ok read 3",
    "a read without a result": "0 invoke write 1; 0 ok write 1; 1 invoke read nil; 1 fail read timed-out",
}
NOT_LINEARIZABLE = {
    "an acknowledged write is lost": "0 invoke write 1; 0 ok write 1; 1 invoke read nil; 1 ok read nil",
    "a read is stale": "0 invoke write 1; 0 ok write 1; 0 invoke write 2; 0 ok write 2; 1 invoke read nil; 1 ok read 1",
    "reads go back in time": "0 invoke write 1; 1 invoke read nil; 1 ok read 1; 2 invoke read nil; 2 ok read nil;"
    "0 ok write 1",
    "two racing changes succeed": "0 invoke write 1; 0 ok write 1; 1 invoke cas [1 2]; 2 invoke cas [1 3];"
    "1 ok cas [1 2]; 2 ok cas [1 3]",
    "a change fails for no reason": "0 invoke write 1; 0 ok write 1; 1 invoke cas [1 2]; 1 fail cas [1 2]",
    "an unknown write is read, then not read": "0 invoke write 1; 0 info write timed-out;"
    "1 invoke read nil; 1 ok read 1; 1 invoke read nil; 1 ok read nil",
    "a read returns a value that was not written": "0 invoke write 1; 0 ok write 1; 1 invoke read nil; 1 ok read 7",
    "an unknown change happens twice": "0 invoke write 1; 0 ok write 1; 1 invoke cas [1 2]; 1 info cas timed-out;"
    "0 invoke read nil; 0 ok read 2; 0 invoke write 1; 0 ok write 1; 0 invoke read nil; 0 ok read 2",
}


def lines_of(events, name="r"):
    """Convert events into the lines of a history file."""
    parts = [event.split(maxsplit=3) for event in events.split(";") if event.strip()]
    return [f"{name} - {process}\t:{event}\t:{kind}\t{value}\n" for process, event, kind, value in parts]


@pytest.mark.parametrize("events", LINEARIZABLE.values(), ids=LINEARIZABLE)
def test_linearizability_check_accepts_a_linearizable_history(events):
    assert all(item.is_linearizable() for item in histories.read(lines_of(events)).values())


@pytest.mark.parametrize("events", NOT_LINEARIZABLE.values(), ids=NOT_LINEARIZABLE)
def test_linearizability_check_reports_a_history_that_is_not_linearizable(events, tmp_path, capsys):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text("".join(lines_of(LINEARIZABLE["a read after a write"])))
    bad.write_text(
        "".join([*lines_of(LINEARIZABLE["an unfinished write took no effect"]), *lines_of(events, "the-bad-one")])
    )
    assert histories.main([str(good)]) == 0
    assert histories.main([str(good), str(bad)]) == 1
    printed = capsys.readouterr().out
    assert "bad: the-bad-one is not linearizable" in printed
    assert printed.strip().endswith(histories.read(lines_of(events))["r"].lines[-1])


@pytest.mark.skipif(not RECORDED.is_dir(), reason="needs ../shared/histories, recorded histories with known verdicts")
def test_linearizability_check_of_recorded_histories_returns_the_known_verdicts():
    verdicts = json.loads((RECORDED / "verdicts.json").read_text())
    assert {name: histories.main([str(RECORDED / name)]) == 0 for name in verdicts} == verdicts


def test_linearizability_check_rejects_a_history_line_of_another_format():
    with pytest.raises(ValueError, match="not in the format"):
        histories.read(["hello"])
