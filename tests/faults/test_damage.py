"""A bit flipped, an end cut off, a file emptied or gone, in each kind of our own files, met by each verb.

Either the verb says what is wrong, with a code and what to do, and changes nothing; or it comes to the very
result that it has without the damage. `doctor` finds the damage, names it, and puts it right or refuses to.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from gsdlock.store.filesystem_decorators import Faulty

from .children import Ended, Unflushed, warm_up
from .dying import die
from .folders import tree
from .machine import Machine
from .points import FULL, Report, chosen
from .scenes import ALLOW, LOCKED, SCENES, upgraded
from .sweeps import CODE


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    write(path, bytes(data))


def cut(path: Path) -> None:
    data = path.read_bytes()
    write(path, data[: len(data) // 2])


def emptied(path: Path) -> None:
    write(path, b"")


def gone(path: Path) -> None:
    path.unlink()


def write(path: Path, data: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a bit flipped": flipped,
    "cut": cut,
    "emptied": emptied,
    "gone": gone,
}


@dataclass(frozen=True)
class Kind:
    """One kind of file: where it lies, which finding names its damage, whether `--repair` can put it right,
    and what of the damages cannot be seen by anybody (the file may as well never have been there)."""

    find: Callable[[Machine], Path]
    finding: str
    repaired: bool
    unseen: frozenset[str] = frozenset()


def generation(machine: Machine, number: int) -> Path:
    return machine.state / f"targets/claude@default/generations/{number}.json"


def record(machine: Machine) -> Any:
    return json.loads(generation(machine, 2).read_text())["record"]


def installed_blob(machine: Machine) -> Path:
    """The blob of a file that is installed as it is in the store."""
    return blob(machine, record(machine)["files"]["config:skills/changes/SKILL.md"]["source"])


def pre_image(machine: Machine) -> Path:
    """The blob of the shared file as it was without us; nobody else has it."""
    return blob(machine, record(machine)["edited"][0]["without"])


def blob(machine: Machine, digest: str) -> Path:
    body = digest.removeprefix("sha256:")
    return machine.data / f"blobs/sha256/{body[:2]}/{body[2:]}"


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


HARMLESS = frozenset(DAMAGES)
KINDS = {
    "blob": Kind(installed_blob, "blob", True),
    "blob of a shared file without us": Kind(pre_image, "blob", False),
    "current generation": Kind(lambda m: generation(m, 2), "generation", False),
    "former generation": Kind(lambda m: generation(m, 1), "generation", True, frozenset({"gone"})),
    "pointer": Kind(
        lambda m: m.state / "targets/claude@default/current", "pointer", True, frozenset({"cut"})
    ),
    "lock": Kind(lambda m: m.project / "gsdlock.lock", "lock", False, frozenset({"gone"})),
    "ledger": Kind(lambda m: m.state / "ledger.sqlite", "ledger", True, frozenset({"gone", "a bit flipped"})),
    "registration": Kind(lambda m: only(m.state, "locks/*.json"), "registration", True, frozenset({"gone"})),
    "note": Kind(
        lambda m: only(m.state, "unchanged/*.json"), "note", True, frozenset({"gone", "a bit flipped"})
    ),
    "note of the holder": Kind(lambda m: m.state / "lock.holder", "", True, HARMLESS),
}
VERBS: dict[str, tuple[str, ...]] = {
    "status": ("status",),
    "apply": LOCKED,
    "rollback": ("rollback", *ALLOW),
    "uninstall": ("uninstall", *ALLOW),
    "repair": ("repair", *ALLOW),
    "gc": ("gc", "--keep", "1"),
    "log": ("log",),
    "diff": ("diff", "@installed", "@lock"),
    "history": ("history",),
    "verify": ("verify",),
    "resolve": ("resolve",),
    "why": ("why", "/nowhere"),
    "doctor": ("doctor",),
    "doctor --repair": ("doctor", "--repair"),
}

READING = frozenset(VERBS) - {"apply", "rollback", "uninstall"}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    warm_up()
    return Machine(tmp_path_factory.mktemp("damage"), upgraded)


@pytest.fixture(scope="module")
def results(machine: Machine) -> dict[str, tuple[int | None, Any, Any]]:
    """What each verb comes to without any damage: status, what stands, and the pointers."""
    found = {}
    for verb, words in VERBS.items():
        machine.again()
        ended = machine.here(*words)
        found[verb] = ended.status, tree(machine.home), machine.current()
    return found


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", KINDS)
def test_each_verb_says_so_or_comes_to_the_right_result(
    machine: Machine, results: dict[str, Any], name: str, damage: str, report: Report
) -> None:
    verbs = chosen(list(VERBS), 3, f"{name}/{damage}")
    failures = []
    for verb in verbs:
        machine.again()
        path = KINDS[name].find(machine)
        DAMAGES[damage](path)
        before = tree(machine.home), machine.current()
        ended = machine.here(*VERBS[verb])
        try:
            right_or_told(ended, machine, verb, results[verb], before)
        except AssertionError as failure:
            failures.append(f"{name} {damage}, {verb}: {failure}\n{ended.text}")
    report("damage met by verbs", f"{name}, {damage}", len(verbs), len(failures))
    assert not failures, "\n".join(failures)


def right_or_told(ended: Ended, machine: Machine, verb: str, result: Any, before: Any) -> None:
    """Either as without the damage, or a coded refusal that changes nothing."""
    assert "Traceback" not in ended.text and "E-FAULT" not in ended.text
    home, pointers = tree(machine.home), machine.current()
    if ended.status == result[0]:
        as_without = (home, stripped(pointers)) == (result[1], stripped(result[2]))
        as_it_was = (home, pointers) == before and verb in READING
        apart = sorted(p for p in {*home, *result[1]} if home.get(p) != result[1].get(p))
        assert as_without or as_it_was, f"it claims to be right, and is not: {apart} {pointers}"
        return
    told = verb in ("verify", "doctor", "doctor --repair", "status") or CODE.search(ended.text)
    assert told, "neither right nor told"
    assert ended.status in (0, 1, 3, 4, 5)
    assert home == before[0], "told, and changed something all the same"


def stripped(pointers: dict[str, str]) -> dict[str, str]:
    """Pointers by what they say."""
    return {slug: text.strip() for slug, text in pointers.items()}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", KINDS)
def test_doctor_finds_it_and_puts_it_right_or_says_what_to_do(
    machine: Machine, name: str, damage: str
) -> None:
    kind = KINDS[name]
    machine.again()
    path = kind.find(machine)
    DAMAGES[damage](path)
    looked = machine.here("doctor", "--json")
    found = looked.data["damage"]
    if damage in kind.unseen:
        assert looked.status in (0, 5)
    else:
        assert looked.status == 5
        assert kind.finding in [f["kind"] for f in found], found
        named = [f for f in found if f["kind"] == kind.finding]
        assert all(f["path"].startswith(str(path).removesuffix("-wal")) for f in named), named
        assert all(f["what"] and f["fix"] for f in named)
    mended = machine.here("doctor", "--repair", "--json")
    lost = kind.finding == "blob" and damage == "gone" and not kind.repaired
    if kind.repaired or (damage in kind.unseen and kind.finding != "lock"):
        assert mended.status == 0, mended.text
        for verb in ("status", "apply", "verify", "gc", "log"):
            ended = machine.here(*VERBS[verb])
            assert ended.status == 0, f"after the repair, {verb}: {ended.text}"
    else:
        left = [f["kind"] for f in mended.data["damage"]]
        assert kind.finding in left or damage in kind.unseen or lost, left


def test_without_its_record_a_target_is_taken_over_as_it_stands(machine: Machine) -> None:
    """What doctor advises where the current generation is lost."""
    machine.again()
    stands = machine.tree()
    cut(generation(machine, 2))
    advised = machine.here("doctor", "--json").data["damage"][0]["fix"]
    assert "apply --adopt" in advised
    (machine.state / "targets/claude@default").rename(machine.now / "aside")
    ended = machine.here(*LOCKED, "--adopt")
    assert ended.status == 0, ended.text
    assert machine.tree() == stands
    assert machine.here("doctor").status == 0


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_next_apply_writes_a_registration_anew(machine: Machine, damage: str) -> None:
    """It is not flushed, so the power may take it; a note that all is in order must not hide that."""
    machine.again()
    assert machine.here(*LOCKED).status == 0
    path = only(machine.state, "locks/*.json")
    before = path.read_bytes()
    DAMAGES[damage](path)
    assert machine.here(*LOCKED).status == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_journal_of_a_broken_off_transaction(machine: Machine, damage: str, report: Report) -> None:
    """Recovery needs it, so everything that would change something stops, and says so."""
    words = SCENES["rollback"][1]
    counting = Faulty(Unflushed(), at=0)
    machine.again()
    machine.here(*words, fs=counting)
    points = chosen(range(1, counting.calls), 4 if not FULL else 0, f"journal/{damage}")
    points = points[:: 5 if FULL else 1]
    tried = 0
    for point in points:
        machine.again()
        machine.run(*words, fs=Faulty(Unflushed(), point, instead=die))
        journals = list(machine.state.glob("transactions/*/*.json"))
        if not journals:
            continue
        tried += 1
        before = machine.tree()
        DAMAGES[damage](journals[0])
        for verb in ("status", "apply", "gc", "doctor", "log"):
            ended = machine.here(*VERBS[verb])
            assert "E-FAULT" not in ended.text and "Traceback" not in ended.text, ended.text
            if damage != "gone":
                assert ended.status == (0 if verb == "log" else 5), f"{point} {verb}: {ended.text}"
                assert machine.tree() == before
        found = machine.here("doctor", "--repair", "--json").data["damage"]
        left = list(machine.home.rglob(".gsdlock-*"))
        if damage == "gone":
            assert {f["path"] for f in found if f["kind"] == "staging"} == {str(p) for p in left}
        else:
            assert [f["kind"] for f in found] == ["journal"], found
    report("damage of a journal", damage, tried, 0)


def test_a_damaged_download_is_fetched_again(tmp_path: Path) -> None:
    def prepare(machine: Machine) -> None:
        import tarfile

        machine.pack("1")
        with tarfile.open(machine.packs / "own.tar", "w") as archive:
            archive.add(machine.packs / "own", arcname="own")
        text = f'[packs.own]\narchive = "{machine.packs}/own.tar"\n[targets.claude]\nscope = "global"\n'
        (machine.project / "gsdlock.toml").write_text(text)
        machine.ok("resolve")

    machine = Machine(tmp_path, prepare)
    lock = (machine.project / "gsdlock.lock").read_bytes()
    for damage in DAMAGES.values():
        machine.again()
        for path in [p for p in (machine.now / "own/cache").rglob("*") if p.is_file()]:
            damage(path)
        for path in (machine.data / "blobs/sha256").glob("*/*"):
            path.unlink()
        ended = machine.here(*LOCKED)
        assert ended.status == 0, ended.text
        assert (machine.project / "gsdlock.lock").read_bytes() == lock
        assert machine.here("verify").status == 0
