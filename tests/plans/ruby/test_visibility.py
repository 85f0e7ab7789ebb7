"""`runcard plan targets` marks private and protected methods; Ruby itself says which they are."""

import json
import subprocess
from pathlib import Path

import pytest

from conftest import Cli
from plans.ruby.samples import written

SOURCE = """\
class A
  def open; end
  private
  def secret; end
  attr_reader :x
  public
  def open_again; end
  def one; end
  def two; end
  private :one, *%i[two]
  private def three; end
  private attr_reader :y
  protected def four; end
  def self.of; end
  def self.hidden; end
  private_class_method :hidden
  private_class_method def self.hidden_too; end
  class << self
    def built; end
    private
    def building; end
  end
  def after; end
  def shown; end
  private :shown
  public :shown
end
module Functions
  module_function
  def area; end
end
module Itself
  extend self
  def seen; end
  private
  def unseen; end
end
"""
ASK = """
load ARGV[0]
[A, Functions, Itself].each do |owner|
  %w[public private protected].each do |kind|
    owner.send(:"#{kind}_instance_methods", false).each { |name| puts "#{owner}##{name} #{kind}" }
    names = owner.singleton_class.send(:"#{kind}_instance_methods", false)
    names += %i[seen unseen].select { |name| owner.singleton_class.send(:"#{kind}_method_defined?", name) }
    names.uniq.each { |name| puts "#{owner}.#{name} #{kind}" }
  end
end
"""


def _targets(cli: Cli, path: Path) -> dict[str, str]:
    listed = json.loads(cli("plan", "targets", path, "--json").out)["targets"]
    signs = {"instance": "#", "class": "."}
    return {f"{t['class']}{signs[t['method_type']]}{t['method']}": t["visibility"] for t in listed}


@pytest.mark.needs("ruby")
def test_the_visibility_is_that_of_ruby(cli: Cli, tmp_path: Path) -> None:
    path = written(tmp_path, SOURCE)
    asked = subprocess.run(["ruby", "-e", ASK, str(path)], capture_output=True, text=True, check=True)
    expected = dict(line.rsplit(" ", 1) for line in asked.stdout.splitlines())
    assert _targets(cli, path) == expected
    assert {"A#secret", "A#y", "A.building", "Functions#area"} <= {
        n for n in expected if expected[n] == "private"
    }


def test_concerns_and_methods_outside_of_classes(cli: Cli, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "module Taggable\n  class_methods do\n    def tags; end\n    private\n    def index; end\n  end\n"
        "  def tag; end\nend\nprivate\ndef helper; end\n",
    )
    assert _targets(cli, path) == {
        "Taggable.tags": "public",
        "Taggable.index": "private",
        "Taggable#tag": "public",
        "Object#helper": "public",
    }
    assert f"{path}:5: Taggable.index (private)\n" in cli("plan", "targets", path).out
