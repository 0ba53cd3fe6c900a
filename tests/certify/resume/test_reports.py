"""Reports of every kind hold the same figures, and nothing in them is anything but text."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pi_fabric.base.errors import RequestError, StoreError
from pi_fabric.certify.resume.arms import ArmName
from pi_fabric.certify.resume.rates import Paired
from pi_fabric.certify.resume.reports.as_html import as_html
from pi_fabric.certify.resume.reports.as_json import as_json
from pi_fabric.certify.resume.reports.as_markdown import as_markdown
from pi_fabric.certify.resume.reports.as_text import as_text
from pi_fabric.certify.resume.reports.files import check_target, write_report
from pi_fabric.certify.resume.results import Report, Run
from pi_fabric.certify.resume.schedule import Slot

HOSTILE = '<script>alert(1)</script> | `x` "quoted" & [link](http://x) \\'


def run(arm: ArmName, repeat: int, *reasons: str, usd: float = 0.5, summary: int | None = None) -> Run:
    return Run(
        slot=Slot("one", repeat, arm),
        ending="settled",
        reasons=reasons,
        tokens={"input": 1000, "output": 200, "cacheRead": 30, "cacheWrite": 4},
        usd=usd,
        is_cost_complete=True,
        tool_calls=repeat,
        nested_calls=0,
        recall_calls=1,
        wall_ms=1500,
        summary_bytes=summary,
    )


def report_of(*runs: Run, not_run: tuple[Slot, ...] = ()) -> Report:
    return Report(
        provider="anthropic",
        model="claude-sonnet-4-5",
        key_env="SOME_KEY",
        pi_version="1.6.0",
        fabric_version="0.1.0",
        pi_vcc="index.ts",
        fixtures={"one": HOSTILE},
        arms=("baseline", "fabric", "pi-vcc"),
        repeats=3,
        seed=0,
        timeout_s=900,
        max_usd=5,
        spent_usd=sum(run.usd for run in runs),
        stopped="budget" if not_run else None,
        runs=runs,
        not_run=not_run,
    )


SAMPLE = report_of(
    run("baseline", 1),
    run("fabric", 1, summary=4000),
    run("pi-vcc", 1, HOSTILE, summary=100),
    run("fabric", 2, summary=5000, usd=0.1),
    run("baseline", 2, "late", "twice"),
    run("pi-vcc", 2, summary=101),
    run("fabric", 3, "no", summary=6000),
    not_run=(Slot("one", 3, "baseline"), Slot("one", 3, "pi-vcc")),
)


@pytest.mark.requirement("certify:resume:wilson", "certify:resume:paired", "certify:resume:figures")
def test_the_json_holds_rates_intervals_pairs_and_medians() -> None:
    found = as_json(SAMPLE)
    assert (found["status"], found["stopped"], found["spentUsd"], found["maxUsd"]) == (
        "stopped",
        "budget",
        3.1,
        5,
    )
    fabric = found["arms"][1]
    assert fabric["wilson95"] == pytest.approx([0.207660, 0.938510], abs=1e-5)
    del fabric["wilson95"]
    assert fabric == {
        "arm": "fabric",
        "runs": 3,
        "passes": 2,
        "passRate": pytest.approx(2 / 3),
        "medianTokens": 1234,
        "medianUsd": 0.5,
        "medianToolCalls": 2,
        "medianRecallCalls": 1,
        "medianWallMs": 1500,
        "medianSummaryBytes": 5000,
    }
    assert [
        (row["arm"], row["other"], row["wins"], row["losses"], row["ties"]) for row in found["paired"]
    ] == [
        ("fabric", "baseline", 1, 0, 1),
        ("pi-vcc", "baseline", 1, 1, 0),
        ("pi-vcc", "fabric", 0, 1, 1),
    ]
    assert (found["paired"][0]["winRate"], found["paired"][0]["tieRate"]) == (0.5, 0.5)
    assert found["notRun"] == [
        {"fixture": "one", "repeat": 3, "arm": "baseline"},
        {"fixture": "one", "repeat": 3, "arm": "pi-vcc"},
    ]
    assert found["runs"][4]["reasons"] == ["late", "twice"]
    assert json.loads(json.dumps(found)) == found


@pytest.mark.requirement("certify:resume:paired")
def test_a_run_without_its_partner_is_no_pair() -> None:
    rows = report_of(run("baseline", 1), run("fabric", 2)).versus()
    assert [row.paired for row in rows] == [Paired(wins=0, losses=0, ties=0)] * 3


@pytest.mark.requirement("certify:resume:reports")
def test_the_text_fits_eighty_columns_and_says_what_was_not_run() -> None:
    text = as_text(SAMPLE)
    assert max(map(len, text.split("\n"))) <= 80
    assert "Stopped: budget. 7 of 9 runs, $3.10 of $5.00 spent." in text
    assert "fabric    ████████████████████░░░░░░░░░░  67 %" in text
    assert re.search(r"^fabric +2/3 +21-94 % +1,234 +0\.5000 +2 +1 +1\.5 s +5,000$", text, re.MULTILINE)
    assert "fabric against baseline: 1 won, 0 lost, 1 tied (50 % won, 50 % tied)" in text
    assert "one 2 baseline: late; twice" in text
    assert "Not run: baseline 1, fabric 0, pi-vcc 1." in text


@pytest.mark.requirement("certify:resume:reports")
def test_the_markdown_has_a_bar_for_each_arm_and_escapes_what_others_wrote() -> None:
    text = as_markdown(SAMPLE)
    assert "fabric    ████████████████████░░░░░░░░░░  67 % (21-94 %)" in text
    assert "<script>" not in text.replace("\\<script\\>", "")
    rows = [line for line in text.split("\n") if line.startswith("| one |")]
    assert len(rows) == 7
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {12}
    assert "- one, repeat 3, baseline" in text


class Page(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [name for name, _ in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.requirement("certify:resume:reports")
def test_the_page_is_one_file_with_a_chart_and_escapes_what_others_wrote() -> None:
    page = Page(as_html(SAMPLE))
    assert "script" not in page.tags
    assert page.links == []
    assert HOSTILE in page.text
    assert page.tags.count("svg") == 1


@pytest.mark.requirement("certify:resume:reports")
def test_the_chart_draws_rates_and_intervals_to_scale() -> None:
    (drawn,) = re.findall(r"<svg.*?</svg>", as_html(SAMPLE), re.DOTALL)
    chart = ET.fromstring(drawn)
    bars = [float(bar.attrib["width"]) for bar in chart.iter("rect") if bar.attrib["class"] == "bar"]
    assert bars == pytest.approx([200.0, 266.7, 200.0])
    ranges = [(float(line.attrib["x1"]) - 90, float(line.attrib["x2"]) - 90) for line in chart.iter("line")]
    assert ranges[1] == pytest.approx((400 * 0.20766, 400 * 0.93851), abs=0.1)


@pytest.mark.parametrize("render", [as_text, as_markdown, as_html, as_json])
def test_a_report_without_runs_is_complete_too(render: object) -> None:
    empty = replace(report_of(not_run=(Slot("one", 1, "baseline"),)), stopped="interrupted")
    assert callable(render)
    assert "nterrupted" in str(render(empty))


def test_unknown_costs_and_a_folder_that_stayed_are_told() -> None:
    odd = replace(SAMPLE, runs=[replace(run("pi-vcc", 1), is_cost_complete=False)], left_behind="/tmp/x")
    text = " ".join(as_text(odd).split())
    assert "real cost is higher than shown" in text
    assert "Not everything could be removed: /tmp/x" in text


def test_a_model_without_a_price_is_told() -> None:
    free = replace(SAMPLE, spent_usd=0.0)
    assert "Pi knows no price of this model" in as_text(free)
    assert "Pi knows no price of this model" not in as_text(SAMPLE)


@pytest.mark.requirement("certify:resume:reports", "certify:resume:key")
@pytest.mark.parametrize("name", ["r.html", "r.md", "r.json", "R.HTML"])
def test_a_file_is_of_the_kind_that_its_name_says_and_is_scrubbed_once_more(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    check_target(file, "--report")
    write_report(file, SAMPLE, lambda text: text.replace("anthropic", "[gone]"))
    text = file.read_text(encoding="utf-8")
    assert "anthropic" not in text
    assert text.startswith({"l": "<!doctype html>", "d": "# Real resume", "n": "{"}[name[-1].lower()])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("r.pdf", r"r\.pdf does not end in \.html, \.md, \.json"),
        ("no/r.md", "there is no folder"),
        ("folder.md", "is a folder"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_beforehand(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(RequestError, match=words):
        check_target(tmp_path / name, "--report")


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the report cannot be written"):
        write_report(tmp_path / "gone" / "r.md", SAMPLE, str)
