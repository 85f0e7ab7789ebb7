"""The path of a plan: the same from everywhere, and never that of another source."""

import json
import os
import tempfile
from hashlib import sha256
from pathlib import Path

import pytest

from conftest import Cli
from plans.projects import SOURCE, RubyProject, git
from runcard import open_plan
from runcard.errors import StoreError
from runcard.plans.plan_files import MethodRef, documented_name, locate_plan


def hex8(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("app/services/payment_service.rb", "metadata_app_services_payment_service.yml"),
        ("app/models/user.rb", "metadata_app_models_user.yml"),
        (
            "app/controllers/api/v1/orders_controller.rb",
            "metadata_app_controllers_api_v1_orders_controller.yml",
        ),
        ("lib/tasks/clean.rake", "metadata_lib_tasks_clean.rake.yml"),
        ("x.rb", "metadata_x.yml"),
        ("a.rb.rb", "metadata_a.rb.yml"),
    ],
)
def test_the_documented_names(source: str, name: str) -> None:
    assert documented_name(source) == name


def test_the_same_source_has_the_same_path_from_every_directory(
    cli: Cli, project: RubyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.root.parent / "link").symlink_to(project.root)
    ways = [
        (project.root, SOURCE),
        (project.root, f"./{SOURCE}"),
        (project.root, f"app/../{SOURCE}"),
        (project.root / "app", f"../{SOURCE}"),
        (project.source.parent, "invoice.rb"),
        (Path("/"), str(project.source)),
        (project.root.parent, f"link/{SOURCE}"),
        (project.root.parent / "link" / "app", "models/billing/invoice.rb"),
    ]
    for directory, source in ways:
        monkeypatch.chdir(directory)
        assert cli("plan", "path", source).out == f"{project.plan}\n", source


def test_the_nearest_mark_is_the_root(tmp_path: Path) -> None:
    outer = RubyProject(tmp_path / "outer")
    engine = RubyProject(outer.root / "engines" / "billing", mark=".git")
    assert locate_plan(str(engine.source)).path == str(engine.plan)
    assert locate_plan(str(outer.source)).path == str(outer.plan)


def test_a_worktree_whose_git_is_a_file_is_a_root(tmp_path: Path) -> None:
    main = RubyProject(tmp_path / "main", mark="")
    git("init", "-q", cwd=main.root)
    git(
        "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x", cwd=main.root
    )
    git("worktree", "add", "-q", tmp_path / "other", cwd=main.root)
    other = RubyProject(tmp_path / "other", mark="")
    assert (other.root / ".git").is_file()
    assert locate_plan(str(other.source)).path == str(other.plan)


def test_a_root_that_is_named_counts(project: RubyProject, monkeypatch: pytest.MonkeyPatch) -> None:
    app = project.root / "app"
    assert locate_plan(str(project.source), root=str(app)).path == str(
        app / "tmp/rspec_claude_metadata/metadata_models_billing_invoice.yml"
    )
    monkeypatch.chdir("/")
    assert locate_plan(SOURCE, root=str(project.root)).path == str(project.plan)
    with pytest.raises(StoreError, match="not a file below the root"):
        locate_plan("/etc/passwd", root=str(project.root))
    with pytest.raises(StoreError, match="not a directory"):
        locate_plan(SOURCE, root=str(project.root / "nowhere"))


def test_a_link_out_of_the_project_belongs_to_where_it_leads(project: RubyProject, tmp_path: Path) -> None:
    other = RubyProject(tmp_path / "other")
    link = project.root / "app" / "link.rb"
    link.symlink_to(other.source)
    assert locate_plan(str(link)).path == str(other.plan)
    with pytest.raises(StoreError, match="not a file below the root"):
        locate_plan(str(link), root=str(project.root))


class TestWithoutAProject:
    """The source's own directory is the root, and the plans lie in the temporary directory."""

    @pytest.fixture(autouse=True)
    def temporary(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        place = tmp_path / "temporary"
        place.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        return place

    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        path = tmp_path / "scripts" / "clean.rb"
        path.parent.mkdir()
        path.write_bytes(b"class A\n def total\n end\nend\n")
        return path

    def test_a_warning_says_so(self, cli: Cli, source: Path, temporary: Path) -> None:
        done = cli("plan", "path", source)
        assert done.code == 2
        assert done.out == f"{temporary}/scripts_rspec_claude_metadata/metadata_clean.yml\n"
        assert done.err.startswith(f"Warning: {source}: no .git and no Gemfile found")

    def test_the_folder_is_made_for_the_user_alone(self, source: Path, temporary: Path) -> None:
        project = RubyProject(source.parent.parent / "shop")
        data = project.plan_of()
        data["target"]["file"] = "clean.rb"
        del data["validation"]
        plan = open_plan(source).write("analyzer", data | {"automation": {"analyzer_completed": True}})
        folder = temporary / "scripts_rspec_claude_metadata"
        assert Path(plan.path).parent == folder
        assert folder.stat().st_mode & 0o777 == 0o700

    @pytest.mark.needs("root")
    def test_a_folder_of_another_user_is_refused(self, cli: Cli, source: Path, temporary: Path) -> None:
        folder = temporary / "scripts_rspec_claude_metadata"
        folder.mkdir(0o700)
        os.chown(folder, 12345, 12345)
        for command in (("path",), ("status",), ("begin", "skeleton"), ("mark", "skeleton"), ("validate",)):
            done = cli("plan", *command, source)
            assert (done.code, done.out) == (1, "")
            assert done.err.startswith(f"Error: {folder} is owned by another user")
        assert cli("plan", "list", source.parent).code == 1

    @pytest.mark.parametrize("trap", ["link", "file", "open"])
    def test_a_folder_that_others_may_change_is_refused(
        self, cli: Cli, source: Path, temporary: Path, trap: str
    ) -> None:
        folder = temporary / "scripts_rspec_claude_metadata"
        if trap == "link":
            folder.symlink_to(source.parent)
        elif trap == "file":
            folder.touch()
        else:
            folder.mkdir()
            folder.chmod(0o777)
        assert cli("plan", "path", source).code == 1


class TestCollisions:
    """`a/b_c.rb` and `a_b/c.rb` have one documented name."""

    def test_the_first_owner_keeps_the_name(self, cli: Cli, project: RubyProject) -> None:
        first, second = project.add("a/b_c.rb"), project.add("a_b/c.rb")
        shared = project.folder / "metadata_a_b_c.yml"
        assert cli("plan", "path", first, second).out == f"{shared}\n{shared}\n"
        project.write(project.plan_of("a/b_c.rb"), "metadata_a_b_c.yml")
        done = cli("plan", "path", first, second)
        other = project.folder / f"metadata_a_b_c-{hex8('a_b/c.rb')}.yml"
        assert done.out == f"{shared}\n{other}\n"
        assert done.code == 2
        assert done.err.startswith(f"Warning: {second}: metadata_a_b_c.yml is the plan of a/b_c.rb")

    def test_the_second_owner_keeps_its_name_when_the_first_is_gone(self, project: RubyProject) -> None:
        project.add("a/b_c.rb")
        second = project.add("a_b/c.rb")
        name = f"metadata_a_b_c-{hex8('a_b/c.rb')}.yml"
        project.write(project.plan_of("a_b/c.rb"), name)
        assert locate_plan(str(second)).path == str(project.folder / name)

    @pytest.mark.parametrize("file", ["/etc/passwd", "../a_b/c.rb", "a/\0.rb", "", "lib/nowhere.rb"])
    def test_a_plan_of_a_file_that_cannot_be_is_whose_name_it_has(
        self, cli: Cli, project: RubyProject, file: str
    ) -> None:
        data = project.plan_of()
        data["target"]["file"] = file
        project.write(data)
        done = cli("plan", "validate", "--json", project.source)
        said = json.loads(done.out)
        assert (done.code, said["metadata_path"]) == (1, str(project.plan))
        assert {found["path"] for found in said["errors"]} == {"/target/file"}
        assert json.loads(cli("plan", "status", "--json", project.source).out)["reason"] == "different target"

    def test_a_damaged_plan_is_whose_name_it_has(self, project: RubyProject) -> None:
        project.write(b"analyzer: [", "metadata_a_b_c.yml")
        assert locate_plan(str(project.add("a_b/c.rb"))).path == str(project.folder / "metadata_a_b_c.yml")

    def test_a_name_that_is_too_long_is_shortened(self, cli: Cli, project: RubyProject) -> None:
        deep = "/".join(["directory" * 8] * 4)
        one, other = project.add(f"{deep}/a.rb"), project.add(f"{deep}/b.rb")
        done = cli("plan", "path", one, other)
        paths = done.out.splitlines()
        assert done.code == 2
        assert len(set(paths)) == 2
        assert all(len(os.path.basename(path)) <= 255 for path in paths)
        assert paths[0].endswith(f"-{hex8(f'{deep}/a.rb')}.yml")


class TestFurtherMethods:
    """A source has a plan for each method; the first has the documented name."""

    latest = MethodRef("Billing::Invoice", "latest", "class")

    def test_a_further_method_has_a_name_of_its_own(self, project: RubyProject) -> None:
        project.write()
        digest = hex8("Billing::Invoice\nclass\nlatest")
        name = f"metadata_app_models_billing_invoice-{digest}.yml"
        place = locate_plan(str(project.source), method_ref=self.latest)
        assert (place.path, place.is_other_method) == (str(project.folder / name), True)
        data = project.plan_of()
        data["target"] |= {"method": "latest", "method_type": "class"}
        project.write(data, name)
        for asked in (self.latest, MethodRef(method="latest"), MethodRef(method_type="class")):
            place = locate_plan(str(project.source), method_ref=asked)
            assert (place.path, place.is_other_method) == (str(project.folder / name), False)

    @pytest.mark.parametrize(
        "asked", [("--method", "latest"), ("--type", "class"), ("--class", "Billing::Other")]
    )
    def test_a_method_that_has_no_plan_is_never_given_that_of_another(
        self, cli: Cli, project: RubyProject, asked: tuple[str, ...]
    ) -> None:
        before = project.write().read_bytes()
        for command in (
            ("validate",),
            ("begin", "skeleton"),
            ("mark", "skeleton"),
            ("skeleton",),
            ("review",),
        ):
            done = cli("plan", *command, project.source, *asked)
            assert (done.code, done.out) == (1, ""), command
        assert project.plan.read_bytes() == before
        assert os.listdir(project.folder) == [project.plan.name]

    def test_the_source_tells_the_class_and_the_type(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        digest = hex8("Billing::Invoice\nclass\nlatest")
        own = project.folder / f"metadata_app_models_billing_invoice-{digest}.yml"
        for asked in (
            ("--method", "latest"),
            ("--class", "Invoice", "--method", "latest", "--type", "class"),
        ):
            assert cli("plan", "path", project.source, *asked).out == f"{own}\n"
            assert cli("plan", "begin", "analyzer", project.source, *asked).out == f"{own}\n"

    def test_a_method_that_the_source_has_not_must_be_named_in_full(
        self, cli: Cli, project: RubyProject
    ) -> None:
        project.write()
        done = cli("plan", "path", project.source, "--method", "nothing")
        assert (done.code, done.out) == (1, "")
        assert "pass --class, --method and --type" in done.err

    def test_a_program_cannot_write_to_the_plan_of_another_method(self, project: RubyProject) -> None:
        before = project.write().read_bytes()
        plan = open_plan(project.source, method="nothing")
        with pytest.raises(StoreError, match="another method"):
            plan.write("analyzer", project.plan_of())
        with pytest.raises(StoreError, match="no plan for this method"):
            plan.mark("skeleton")
        assert project.plan.read_bytes() == before

    @pytest.mark.parametrize("name", ["Billing::Invoice", "::Billing::Invoice", "Invoice"])
    def test_a_class_is_the_same_by_each_of_its_names(
        self, cli: Cli, project: RubyProject, name: str
    ) -> None:
        project.write()
        asked = ("--class", name, "--method", "total", "--type", "instance")
        assert cli("plan", "path", project.source, *asked).out == f"{project.plan}\n"

    def test_the_first_method_keeps_the_documented_name(self, project: RubyProject) -> None:
        project.write()
        first = MethodRef("Billing::Invoice", "total", "instance")
        for asked in (None, first, MethodRef(method="total")):
            assert locate_plan(str(project.source), method_ref=asked).path == str(project.plan)

    def test_without_a_plan_every_method_has_the_documented_name(self, project: RubyProject) -> None:
        assert locate_plan(str(project.source), method_ref=self.latest).path == str(project.plan)


@pytest.mark.parametrize("name", ["a b.rb", "é.rb", "new\nline.rb", "\x1b[2J.rb", "-rf.rb"])
def test_odd_names_are_names(cli: Cli, project: RubyProject, name: str) -> None:
    source = project.add(f"lib/{name}")
    place = locate_plan(str(source))
    project.write(project.plan_of(f"lib/{name}"), os.path.basename(place.path))
    done = cli("plan", "status", source)
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n") == 1
    assert "\x1b" not in done.out


def test_what_is_no_source_is_refused(cli: Cli, project: RubyProject) -> None:
    done = cli("plan", "path", project.root / "app")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")
    with pytest.raises(StoreError, match="NUL"):
        locate_plan("a\0b.rb")
