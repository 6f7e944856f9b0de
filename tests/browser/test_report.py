"""The fleet's report as its readers have it: found, sorted and chosen in a browser, from small to large fleets."""

import csv
from collections import Counter

import pytest
from made_answers import HOSTILE, made_fleet, write_answers

from falkirk.logdir.target import parse_target
from falkirk.pipeline.reports.answers import Question
from falkirk.pipeline.reports.fleet_report import report_document
from falkirk.pipeline.reports.report_files import write_files
from falkirk.pipeline.spark.job_progress import NoProgress

TARGET = parse_target("3.9")
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
ROWS_SHOWN = 100


class Report:
    def __init__(self, folder, clusters):
        self.fleet = made_fleet(clusters)
        self.folder = folder
        answers = write_answers(folder / "tables", self.fleet.rows)
        question = Question(at=TARGET.metadata_version, release=TARGET.release, ghost_days=7)
        self.report = report_document(answers, question)
        write_files(self.report.document, answers, folder, NoProgress())
        self.url = (folder / "report.html").as_uri()


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    made = {}

    def make(clusters):
        if clusters not in made:
            made[clusters] = Report(tmp_path_factory.mktemp(f"report-{clusters}"), clusters)
        return made[clusters]

    return make


def visible_rows(page, section):
    return page.locator(f"#{section} tbody tr:visible")


def status(page, section="clusters"):
    return page.locator(f"#{section} output").inner_text()


@pytest.mark.parametrize("clusters", [2, 200, 2000])
def test_numbers_on_the_page_are_those_of_the_fleet(pages, reports, clusters):
    report = reports(clusters)
    page = pages.open(report.url)
    words = Counter(report.fleet.words.values())
    for word in ("clear", "lossy", "blocked"):
        assert page.locator(f".card.{word} b").inner_text() == f"{words[word]:,}"
    shown = page.locator("#clusters tbody tr").evaluate_all("rows => rows.map(row => row.cells[0].textContent)")
    assert Counter(shown) == words
    for section, counts in (("kinds-of-losses", report.fleet.losses), ("kinds-of-changes", report.fleet.changes)):
        total = sum(counts.values())
        numbers = page.locator(f"#{section} tbody tr").evaluate_all("rows => rows.map(row => row.cells[2].textContent)")
        assert sum(int(number.replace(",", "")) for number in numbers) == total
    assert page.locator("#groups .more").is_visible() or clusters == 2
    if clusters > 200:
        assert f"of {clusters:,} rows" in page.locator("#groups .more").inner_text()


@pytest.mark.parametrize("clusters", [200, 2000])
def test_a_cluster_is_found_by_a_part_of_its_name(pages, reports, clusters):
    page = pages.open(reports(clusters).url)
    assert visible_rows(page, "clusters").count() == ROWS_SHOWN
    assert status(page) == f"100 of {clusters:,} rows"
    page.locator("#clusters").get_by_label("Search").fill("CLUSTER-00042")
    assert visible_rows(page, "clusters").count() == 1
    assert status(page) == f"1 row, of {clusters:,} in all"
    page.locator("#clusters").get_by_label("Search").fill("no such cluster")
    assert visible_rows(page, "clusters").count() == 0
    page.locator("#clusters").get_by_label("Search").fill("")
    page.locator("#clusters").get_by_role("button", name="Show all").click()
    assert visible_rows(page, "clusters").count() == clusters


def test_clusters_are_chosen_and_sorted_by_a_tag(pages, reports):
    report = reports(200)
    page = pages.open(report.url)
    page.locator("#clusters").get_by_label("team").select_option("team 1")
    names = visible_rows(page, "clusters").locator("td:nth-child(2)").all_text_contents()
    assert sorted(names) == sorted(name for name, team in report.fleet.teams.items() if team == "team 1")
    page.locator("#clusters").get_by_label("team").select_option("all")
    column = page.locator("#clusters th", has_text="team")
    place = column.evaluate("head => head.cellIndex") + 1
    column.get_by_role("button").click()
    teams = page.locator(f"#clusters tbody td:nth-child({place})").all_text_contents()
    assert teams == sorted(report.fleet.teams.values())


def test_a_number_at_the_top_chooses_its_clusters(pages, reports):
    report = reports(200)
    page = pages.open(report.url)
    page.locator(".card.blocked a").click()
    blocked = [name for name, word in report.fleet.words.items() if word == "blocked"]
    names = visible_rows(page, "clusters").locator("td:nth-child(2)").all_text_contents()
    assert sorted(names) == sorted(blocked)
    page.locator("#clusters").get_by_label("verdict").select_option("all")
    assert visible_rows(page, "clusters").count() == ROWS_SHOWN


@pytest.mark.parametrize("clusters", [200, 2000])
def test_rows_are_sorted_by_numbers_and_by_names(pages, reports, clusters):
    page = pages.open(reports(clusters).url)
    section = page.locator("#clusters")
    column = section.locator("th", has_text="losses")
    place = column.evaluate("head => head.cellIndex") + 1
    for direction, wanted in (("ascending", "0"), ("descending", "7")):
        column.get_by_role("button").click()
        assert column.get_attribute("aria-sort") == direction
        assert section.locator(f"tbody tr:first-child td:nth-child({place})").inner_text() == wanted
    name = section.locator("th", has_text="cluster")
    name.get_by_role("button").click()
    assert column.get_attribute("aria-sort") is None
    names = section.locator("tbody td:nth-child(2)").all_text_contents()
    plain = [each for each in names if each.startswith("cluster-")]
    assert plain == sorted(plain)


def test_every_cluster_has_a_page_whatever_its_name(pages, reports):
    report = reports(200)
    assert len(list((report.folder / "clusters").iterdir())) == 200
    page = pages.open(report.url)
    page.locator("#clusters").get_by_role("button", name="Show all").click()
    for name in HOSTILE:
        page.locator("#clusters td:nth-child(2) a").filter(has_text=name.split("\n", maxsplit=1)[0]).click()
        assert page.title() == " ".join(name.split())
        assert page.locator("h1").inner_text().startswith(name.split("\n", maxsplit=1)[0])
        assert page.locator("script, style").count() == 2
        page.get_by_role("link", name="A fleet on its way").click()
        page.locator("#clusters").get_by_role("button", name="Show all").click()


def test_the_page_of_a_cluster_has_its_own_rows_alone(pages, reports):
    report = reports(200)
    cluster = next(name for name, word in report.fleet.words.items() if word == "blocked" and name not in HOSTILE)
    page = pages.open(report.url)
    page.get_by_role("link", name=cluster, exact=True).first.click()
    assert page.locator("h1 .badge").inner_text() == "blocked"
    assert page.locator("#nodes tbody tr").count() == 1
    groups = page.locator("#groups tbody td:first-child").all_text_contents()
    assert groups == [f"{cluster}-4"]
    page.locator("#in-the-way").get_by_role("link", name="what to do").click()
    assert page.url.endswith("runbook.html#unsupporting_node")
    assert page.locator("#unsupporting_node").is_visible()
    assert "choose a target that it runs" in page.locator("#unsupporting_node").inner_text()


def test_links_beside_the_tables_lead_to_all_rows(pages, reports):
    report = reports(200)
    page = pages.open(report.url)
    links = page.locator("a[href]").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    for link in {link.split("#")[0] for link in links if not link.startswith("#")}:
        assert (report.folder / link).exists(), link
    with (report.folder / "csv" / "clusters.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["verdict"] for row in rows) == Counter(report.fleet.words.values())
    with (report.folder / "csv" / "losses.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    counts = Counter((row["outcome"], row["kind"]) for row in rows)
    assert counts["lost", "cidr_deny_acl"] == report.fleet.losses["cidr_deny_acl"]
    assert counts["changed", "elr_to_isr"] == report.fleet.changes["elr_to_isr"]


def test_a_spreadsheet_computes_no_name(reports):
    folder = reports(200).folder / "csv"
    for path in folder.iterdir():
        with path.open(newline="") as file:
            for row in csv.reader(file):
                assert not [cell for cell in row if cell.startswith(("=", "+", "@"))], path


def test_it_is_used_by_the_keyboard_alone(pages, reports):
    page = pages.open(reports(200).url)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.locator("#clusters").get_by_label("Search").focus()
    page.keyboard.type("cluster-0000")
    assert visible_rows(page, "clusters").count() == 10
    heads = page.locator("#clusters th button")
    heads.nth(1).focus()
    page.keyboard.press("Enter")
    assert page.locator("#clusters th").nth(1).get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert page.locator("#clusters th").nth(1).get_attribute("aria-sort") == "descending"


def test_a_screen_reader_finds_names_and_roles(pages, reports):
    page = pages.open(reports(2).url)
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("navigation", name="Sections").count() == 1
    assert page.get_by_role("region", name="Clusters, table").get_by_role("columnheader", name="verdict").count() == 1
    large = pages.open(reports(200).url)
    unnamed = large.locator("input, select, button").evaluate_all(
        "all => all.filter(each => !(each.labels?.length || each.textContent.trim())).length"
    )
    assert unnamed == 0
    assert large.locator("#clusters output").get_attribute("aria-live") == "polite"
    levels = large.locator("h1, h2, h3").evaluate_all("all => all.map(each => each.tagName)")
    assert levels[0] == "H1"
    assert set(levels[1:]) == {"H2"}


CONTRAST = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((each) => each / 255)
      .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (!/, 0\\)$/.test(color)) return color;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("h1, h2, p, td, th, a, .badge, label, output, dt, dd, summary, .card")]
    .filter((each) => each.offsetParent && each.textContent.trim())
    .map((each) => {
      const [a, b] = [light(getComputedStyle(each).color), light(back(each))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), each.tagName + "." + each.className + ": " + each.textContent.slice(0, 40)];
    })
    .filter(([ratio]) => ratio < 4.5);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_day_and_by_night(pages, reports, scheme):
    page = pages.open(reports(200).url, color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    assert dark == (scheme == "dark")


def test_on_a_phone_nothing_but_tables_is_wider_than_the_screen(pages, reports):
    page = pages.open(reports(200).url, **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("link", name="cluster-00001", exact=True).first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_scripts_all_rows_are_there(pages, reports):
    page = pages.open(reports(200).url, java_script_enabled=False)
    assert page.locator("#clusters tbody tr:visible").count() == 200
