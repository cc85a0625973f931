"""The gate's criteria that are seen from the command line, by number; the others are beside what they test.

What differs on purpose stands in `tests/data/gate_criteria.json`.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from gsdlock.lockfiles import model, read, versions, write
from gsdlock.store.gate import UNSAFE_STAMP
from msgspec import structs

from .conftest import Machine, PackMaker

DATA = Path(__file__).parents[1] / "data"
VECTORS = json.loads((DATA / "gate_runner_vectors.json").read_text())
DIFFERS = json.loads((DATA / "gate_criteria.json").read_text())["vectors"]
LOCAL = '[targets.claude]\nscope = "local"\n'


def with_pack(pack: Path, target: str = LOCAL) -> str:
    return f'[packs.own]\npath = "{pack}"\n{target}'


def lock_of(machine: Machine) -> Path:
    return machine.project / "gsdlock.lock"


def ledger_rows(machine: Machine, query: str) -> list[Any]:
    connection = sqlite3.connect(machine.state / "ledger.sqlite")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


# -- the lock ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["not = = toml", "[[pack]]\nnope = 1\n", "\x00", "[[target]\n"])
def test_10_of_a_newer_lock_only_the_version_is_told(starter: Machine, body: str) -> None:
    lock_of(starter).write_text(f"lock-version = 99\n{body}")
    for words in (["apply", "--locked"], ["apply"], ["status"], ["diff"], ["resolve"]):
        ran = starter.run(*words)
        assert ran.status == 3 and "E-LOCK-VERSION-NEWER" in ran.err, words
        assert "nope" not in ran.err and "parse" not in ran.err


def test_13_the_same_inputs_give_the_same_lock(starter: Machine) -> None:
    """Hash seed, locale and working directory have no part in it; `test_resolve` moves the machine too."""
    starter.ok("resolve")
    first = lock_of(starter).read_bytes()
    below = starter.project / "a/b"
    below.mkdir(parents=True)
    for seed, locale, cwd in (("1", "C", starter.project), ("2", "tr_TR.UTF-8", below)):
        starter.variables |= {"PYTHONHASHSEED": seed, "LC_ALL": locale}
        lock_of(starter).unlink()
        starter.ok("resolve", cwd=cwd)
        assert lock_of(starter).read_bytes() == first


def test_14_a_shared_lock_is_not_touched(starter: Machine) -> None:
    starter.ok("resolve")
    lock = lock_of(starter)
    before = lock.read_bytes(), lock.stat().st_ino, lock.stat().st_mtime_ns
    for words in (
        ["diff"],
        ["apply", "--dry-run"],
        ["apply", "--allow", "high"],
        ["apply", "--locked"],
        ["status"],
        ["verify"],
        ["uninstall", "--allow", "high"],
    ):
        starter.ok(*words)
        assert (lock.read_bytes(), lock.stat().st_ino, lock.stat().st_mtime_ns) == before, words


def test_15_a_later_reader_takes_this_version_and_writes_its_own(
    starter: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter.ok("resolve")
    data = lock_of(starter).read_bytes()
    later = model.LOCK_VERSION + 1
    for module in (model, versions, write):
        monkeypatch.setattr(module, "LOCK_VERSION", later, raising=False)
    lock = read.read_lock(data, "gsdlock.lock")
    assert b"lock-version = 1\n" in data and f"lock-version = {later}\n".encode() in write.lock_bytes(lock)


def test_15_a_field_that_the_version_does_not_have_is_refused(starter: Machine) -> None:
    starter.ok("resolve")
    text = lock_of(starter).read_text()
    lock_of(starter).write_text(text.replace("[[pack]]", "[[pack]]\nfallbacks = []", 1))
    ran = starter.run("apply", "--locked", "--allow", "high")
    assert ran.status == 3 and "E-LOCK-INVALID" in ran.err and "fallbacks" in ran.err


# -- resolution ----------------------------------------------------------------------------------------------

# What is wrong with a pack in the reference's words, and here: how it is made so, and what is said of it.
WRONG = {
    "locked+cached+checksum": ("sound", ""),
    "not in lock": ("absent", "E-PACK-PATH-MISSING"),
    "locked, not cached": ("no archive", "E-ARCHIVE-MISSING"),
    "locked+cached, checksum only for darwin_arm64, platform linux_amd64": ("other", "E-PACK-INTEGRITY"),
    "locked+cached+checksum, mode 0600, to be executed": ("link", "E-PACK-LINK"),
    "dev_overrides -> missing file": ("override", "E-PACK-PATH-MISSING"),
    "dev_overrides -> empty string, not in lock": ("empty override", "E-PACK-PATH-MISSING"),
}


def test_16_all_that_is_wrong_is_told_at_once_in_order_and_nothing_is_written(
    machine: Machine, make_pack: PackMaker
) -> None:
    vector = VECTORS["missing_report"]
    packs, overrides, expected = "", "", []
    for row in vector["want"]:
        name = row["name"]
        how, code = WRONG[row["state"]]
        source = f'path = "{make_pack(name=name)}"'
        if how in ("absent", "empty override"):
            source = 'path = "/nowhere"'
        elif how == "no archive":
            source = 'archive = "/nowhere/x.tgz"'
        elif how == "other":
            archive = shutil.make_archive(str(machine.root / name), "gztar", machine.root / "packs" / name)
            source = f'archive = "{archive}"\nintegrity = "sha512-{"A" * 86}=="'
        elif how == "link":
            (machine.root / "packs" / name / "skills" / name / "x").symlink_to("/etc/passwd")
        if "override" in how:
            overrides += f'{name} = "{"" if how == "empty override" else "/gone"}"\n'
        packs += f"[packs.{name}]\n{source}\n"
        expected += [(name, code)] if code else []
    machine.own(f"[dev-overrides]\n{overrides}")
    machine.manifest(packs + LOCAL)
    before = machine.tree(machine.project)
    ran = machine.run("apply", "--allow", "critical", "--json")
    error = ran.data["error"]
    told = [f"{error['code']}: {error['what']}", *error["details"]]
    found = [
        (match.group(2), match.group(1))
        for line in told
        if (match := re.match(r"(E-[A-Z0-9-]+): pack ([a-z]+)", line))
    ]
    assert found == expected
    assert [name for name, _ in found] == [name for name, _ in vector["expect"]["missing_in_order"]]
    assert machine.tree(machine.project) == before


RUNTIMES = ("claude", "codex", "opencode", "gemini", "cursor", "qwen", "windsurf", "kilo")


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS["order"] if f"order/{v['id']}" not in DIFFERS], ids=lambda v: v["id"]
)
def test_17_the_order_of_the_manifest_then_of_names(
    machine: Machine, make_pack: PackMaker, vector: dict[str, Any]
) -> None:
    """What has no place in the manifest any more (null in the vector) is installed still, and comes last."""
    pack = make_pack(hook=False)
    declared = dict(vector["decl"])
    runtime = dict(zip(declared, RUNTIMES, strict=False))

    def manifest(names: list[str]) -> None:
        rows = [f'[targets.{n}]\nruntime = "{runtime[n]}"\nscope = "local"\n' for n in names]
        machine.manifest(with_pack(pack, "".join(rows)))

    manifest(list(declared))
    machine.ok("apply", "--allow", "high")
    manifest(sorted((n for n, place in declared.items() if place is not None), key=lambda n: declared[n]))
    machine.ok("resolve")
    for _ in range(3):
        rows = machine.ok("status", "--json").data["targets"]
        assert [row["target"] for row in rows] == vector["expect"]
    items = machine.ok("apply", "--dry-run", "--json").data["items"]
    seen = list(dict.fromkeys(i["target"] for i in items))
    assert len(seen) > 1 and seen == [n for n in vector["expect"] if n in seen]  # some share their files


# -- the gate ------------------------------------------------------------------------------------------------


def test_25_without_an_answer_nothing_is_written_and_nothing_recorded(starter: Machine) -> None:
    before = starter.tree()
    for words in (["apply"], ["apply", "--json"], ["apply", "--allow", "moderate"]):
        ran = starter.run(*words)
        assert ran.status == 4 and "E-ASK-UNRESOLVED" in ran.out + ran.err
    assert starter.tree() == before
    assert (
        not (starter.state / "ledger.sqlite").exists() or ledger_rows(starter, "SELECT * FROM events") == []
    )


def test_25_every_question_is_to_be_had(machine: Machine, make_pack: PackMaker) -> None:
    """Forty lines are shown, with what shows the rest; as data there are all of them at once."""
    pack = make_pack(hook=False)
    for n in range(60):
        (pack / f"skills/greet/more{n}.md").write_text("more")
    machine.manifest(with_pack(pack, '[targets.claude]\nscope = "global"\n'))
    asked = {f"more{n}.md" for n in range(60)}

    def told(text: str) -> set[str]:
        return {name for name in asked if f"/{name} (" in text}

    ran = machine.run("apply")
    assert ran.status == 4 and len(told(ran.err)) < 41 and "and 21 more; --verbose shows them" in ran.err
    ran = machine.run("apply", "--verbose")
    assert ran.status == 4 and told(ran.err) == asked and "more; --verbose" not in ran.err
    ran = machine.run("apply", "--json")
    error = ran.data["error"]
    assert error["code"] == "E-ASK-UNRESOLVED" and told("\n".join(error["details"])) == asked
    assert len(error["details"]) == 61


def test_26_allowed_unseen_is_stamped_as_such_and_each_item_warned_of(starter: Machine) -> None:
    ran = starter.ok("apply", "--unsafe-auto-allow")
    stamped = {who for (who,) in ledger_rows(starter, "SELECT decided_by FROM plan_items")}
    assert stamped == {f"policy:default+resolver:{UNSAFE_STAMP}"}
    assert UNSAFE_STAMP == "UNSAFE-AUTO-ALLOW(no-frontend-attached)"
    ((count,),) = ledger_rows(starter, "SELECT count(*) FROM plan_items")
    assert ran.err.count("allowed unseen: ") == count > 3
    assert UNSAFE_STAMP in starter.ok("log", "-v").out


def test_24_a_rule_that_asks_about_everything_can_be_lived_with(
    machine: Machine, make_pack: PackMaker
) -> None:
    machine.own('[policy.all]\nmatch = {}\naction = "ask"\n')
    pack = make_pack(hook=False)
    machine.manifest(with_pack(pack))
    machine.ok("apply", "--allow", "low")
    (pack / "skills/greet/more.md").write_text("more")
    machine.ok("resolve")
    ran = machine.ok("apply", "--allow", "low")
    assert (machine.project / ".claude/skills/greet/more.md").exists()
    assert "policy.all asks about an item that changes nothing" in ran.out
    query = "SELECT op, allow, decided_by FROM plan_items WHERE allow = 0"
    assert ledger_rows(machine, query) == [("keep", 0, "policy:all")]


@pytest.mark.parametrize("path", ["../.bashrc", "/etc/x", "a\\b", "con"])
def test_29_no_rule_and_no_flag_lifts_confinement(machine: Machine, make_pack: PackMaker, path: str) -> None:
    """The lock is forged, with its digests right, and the user allows everything."""
    machine.own('[policy.all]\nmatch = {}\naction = "allow"\n')
    machine.manifest(with_pack(make_pack(hook=False)))
    machine.ok("resolve")
    lock = read.read_lock(lock_of(machine).read_bytes(), "")
    (target,) = lock.targets
    (placement,) = target.placements
    moved = structs.replace(target, placements=(structs.replace(placement, path=path),))
    forged = structs.replace(lock, targets=(moved,))
    lock_of(machine).write_bytes(write.lock_bytes(forged))
    before = machine.tree(machine.root)
    everything = ["apply", "--locked", "--allow", "critical", "--unsafe-auto-allow"]
    assert "E-LOCK-REBUILD" in machine.run(*everything).err
    machine.believe(forged)  # and had the first wall fallen
    for words in (["apply", "--locked"], ["apply", "--locked", "--allow", "critical", "--unsafe-auto-allow"]):
        ran = machine.run(*words)
        assert ran.status in (3, 4) and "E-CONFINE-PATH" in ran.err, ran.err
    assert {k: v for k, v in machine.tree(machine.root).items() if "/.local" not in k} == {
        k: v for k, v in before.items() if "/.local" not in k
    }


def test_30_what_cannot_be_recorded_is_not_done(starter: Machine) -> None:
    starter.ok("resolve")
    (starter.state / "ledger.sqlite").mkdir(parents=True)
    before = starter.tree()
    ran = starter.run("apply", "--allow", "high")
    assert ran.status == 4 and "E-LEDGER-WRITE" in ran.err
    assert starter.tree() == before
    (starter.state / "ledger.sqlite").rmdir()
    starter.ok("apply", "--allow", "high")


def test_31_every_allowed_item_has_one_outcome(starter: Machine) -> None:
    starter.ok("apply", "--allow", "high")
    starter.ok("uninstall", "--allow", "high")
    query = (
        "SELECT p.allow, count(o.outcome) FROM plan_items p LEFT JOIN outcomes o "
        "USING (transaction_id, position) GROUP BY p.transaction_id, p.position"
    )
    assert set(ledger_rows(starter, query)) == {(1, 1)}


def test_37_a_lost_ledger_blocks_neither_apply_nor_rollback(starter: Machine) -> None:
    starter.ok("apply", "--allow", "high")
    installed = starter.tree()
    (starter.state / "ledger.sqlite").write_bytes(b"not a data base" * 999)
    ran = starter.ok("rollback", "--allow", "high")
    assert "ledger.sqlite.corrupt" in ran.out
    (starter.state / "ledger.sqlite").unlink()
    starter.ok("rollback", "1", "--allow", "high")
    assert starter.tree() == installed


def test_38_a_record_holds_no_path_of_the_home(starter: Machine) -> None:
    """Also for entries in shared files, and for what is asked for on the command line."""
    starter.ok("apply", "--allow", "high")
    starter.ok("uninstall", "--allow", "high")
    for (payload,) in ledger_rows(starter, "SELECT payload FROM events"):
        assert str(starter.home).encode() not in payload
    (event, *_) = starter.ok("log", "--json").data["events"]
    assert any(i["description"].startswith("~/.claude/settings.json: ") for i in event["payload"]["items"])


# -- what is named and what is not ---------------------------------------------------------------------------


def test_45_a_named_lane_must_be_there_and_the_others_are_silent(machine: Machine) -> None:
    """Nobody is told of what was not asked for; what was asked for by name and is not there is an error.
    `test_lanes` has every kind of probe and every way in which a lane can be missing."""
    folder = machine.root / "bin"
    folder.mkdir()
    (folder / "claude").write_text("#!/bin/sh\n")
    for path in (folder, folder / "claude"):
        path.chmod(0o755)
    machine.variables["PATH"] = str(folder)
    ran = machine.ok("lanes", "--json")
    told = [row["slug"] for row in ran.data["lanes"] if row["transport"] == "spawn"]
    assert told == ["claude"] and ran.err == ""
    machine.ok("lanes", "claude")
    ran = machine.run("lanes", "claude", "codex", "kimi-code")
    assert ran.status == 7 and "E-LANE-UNAVAILABLE" in ran.err and ran.out == ""
    assert "codex is not on PATH" in ran.err and "kimi is not on PATH" in ran.err
    ran = machine.run("lanes", "claud")
    assert ran.status == 3 and "E-LANE-UNKNOWN" in ran.err and "did you mean claude?" in ran.err


def test_hosts_and_interpreters_that_are_named_must_be_there_and_the_rest_is_silent(
    machine: Machine, make_pack: PackMaker
) -> None:
    """Hosts are looked for in silence; one that is named and an interpreter that is needed must be there."""
    ran = machine.ok("runtimes", "--detect")
    assert ran.err == "" and "claude" not in ran.out
    ran = machine.run("init", "--runtime", "claud")
    assert ran.status == 3 and "E-RUNTIME-UNKNOWN" in ran.err
    pack = make_pack()
    descriptor = pack / "capability.json"
    descriptor.write_text(descriptor.read_text().replace("greet.sh", "greet.js"))
    (pack / "hooks/greet.sh").rename(pack / "hooks/greet.js")
    machine.manifest(with_pack(pack, '[targets.claude]\nscope = "global"\n'))
    machine.variables["PATH"] = "/nowhere"
    before = machine.tree()
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 4 and "E-TOOL-ABSENT" in ran.err and "node" in ran.err
    assert machine.tree() == before
    machine.manifest(with_pack(make_pack(name="plain", hook=False)))
    machine.ok("apply", "--allow", "high")
