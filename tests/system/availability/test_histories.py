"""The checker of histories, tested with histories of known verdicts."""

import json

import pytest

from tests.processes import ROOT
from tests.system.availability import histories

RECORDED = ROOT.parent / "shared" / "histories"

# Each event is PROCESS EVENT KIND VALUE, in order of time.
LINEARIZABLE = {
    "nothing happened": "",
    "one after the other": "0 invoke write 1; 0 ok write 1; 1 invoke read nil; 1 ok read 1",
    "a read beside a write sees the old value": "0 invoke write 1; 1 invoke read nil; 1 ok read nil; 0 ok write 1",
    "or the new one": "0 invoke write 1; 1 invoke read nil; 1 ok read 1; 0 ok write 1",
    "of two that race one wins": "0 invoke write 1; 0 ok write 1; 1 invoke cas [1 2]; 2 invoke cas [1 3];"
    "1 ok cas [1 2]; 2 fail cas [1 3]; 0 invoke read nil; 0 ok read 2",
    "what is unknown happened": "0 invoke write 1; 0 info write timed-out; 1 invoke read nil; 1 ok read 1",
    "or happens later": "0 invoke write 1; 0 info write timed-out; 1 invoke read nil; 1 ok read nil;"
    "2 invoke read nil; 2 ok read 1",
    "or never": "0 invoke write 1; 1 invoke read nil; 1 ok read nil",
    "an unknown change that found something else": "0 invoke cas [1 2]; 0 info cas timed-out; 1 invoke write 3;"
    "1 ok write 3; 2 invoke read nil; 2 ok read 3",
    "a read that told nothing": "0 invoke write 1; 0 ok write 1; 1 invoke read nil; 1 fail read timed-out",
}
NOT_LINEARIZABLE = {
    "an acknowledged write is lost": "0 invoke write 1; 0 ok write 1; 1 invoke read nil; 1 ok read nil",
    "a read is stale": "0 invoke write 1; 0 ok write 1; 0 invoke write 2; 0 ok write 2; 1 invoke read nil; 1 ok read 1",
    "reads go back in time": "0 invoke write 1; 1 invoke read nil; 1 ok read 1; 2 invoke read nil; 2 ok read nil;"
    "0 ok write 1",
    "both win": "0 invoke write 1; 0 ok write 1; 1 invoke cas [1 2]; 2 invoke cas [1 3];1 ok cas [1 2]; 2 ok cas [1 3]",
    "a change fails for no reason": "0 invoke write 1; 0 ok write 1; 1 invoke cas [1 2]; 1 fail cas [1 2]",
    "an unknown write is seen, and unseen": "0 invoke write 1; 0 info write timed-out; 1 invoke read nil; 1 ok read 1;"
    "1 invoke read nil; 1 ok read nil",
    "a value that nobody wrote": "0 invoke write 1; 0 ok write 1; 1 invoke read nil; 1 ok read 7",
    "an unknown change happens twice": "0 invoke write 1; 0 ok write 1; 1 invoke cas [1 2]; 1 info cas timed-out;"
    "0 invoke read nil; 0 ok read 2; 0 invoke write 1; 0 ok write 1; 0 invoke read nil; 0 ok read 2",
}


def written(events, name="r"):
    """Return events as the lines of a history file."""
    parts = [event.split(maxsplit=3) for event in events.split(";") if event.strip()]
    return [f"{name} - {who}\t:{event}\t:{kind}\t{value}\n" for who, event, kind, value in parts]


@pytest.mark.parametrize("events", LINEARIZABLE.values(), ids=LINEARIZABLE)
def test_linearizable_histories_pass(events):
    assert all(item.is_linearizable() for item in histories.read(written(events)).values())


@pytest.mark.parametrize("events", NOT_LINEARIZABLE.values(), ids=NOT_LINEARIZABLE)
def test_non_linearizable_histories_are_reported(events, tmp_path, capsys):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text("".join(written(LINEARIZABLE["one after the other"])))
    bad.write_text("".join([*written(LINEARIZABLE["or never"]), *written(events, "the-bad-one")]))
    assert histories.main([str(good)]) == 0
    assert histories.main([str(good), str(bad)]) == 1
    printed = capsys.readouterr().out
    assert "bad: the-bad-one is not linearizable" in printed
    assert printed.strip().endswith(histories.read(written(events))["r"].lines[-1])


@pytest.mark.skipif(not RECORDED.is_dir(), reason="needs ../shared/histories, recorded ones of known verdict")
def test_recorded_histories_are_classified():
    verdicts = json.loads((RECORDED / "verdicts.json").read_text())
    assert {name: histories.main([str(RECORDED / name)]) == 0 for name in verdicts} == verdicts


def test_a_line_of_another_format_is_rejected():
    with pytest.raises(ValueError, match="not a line"):
        histories.read(["hello"])
