"""One odd class in a file costs that class only."""

import json
from pathlib import Path

from conftest import Cli

SOURCE = """\
module Shapes
  class Odd
    self::Inner.class_eval do
      def hidden?
        size > 3
      end
    end
  end

  class Plain
    def area(side)
      side.nil? ? 0 : side * side
    end
  end

  Point = Struct.new(:x, :inside?) do
    def far?
      x > 3
    end
  end.freeze
end
"""


def test_all_classes_are_analyzed(cli: Cli, tmp_path: Path) -> None:
    source = tmp_path / "shapes.rb"
    source.write_text(SOURCE)
    done = cli("plan", "analyze", "--all-methods", "--json", source)
    targets = [json.loads(line)["target"] for line in done.out.splitlines()]
    assert [(target["class"], target["method"]) for target in targets] == [
        ("Shapes::Odd::Inner", "hidden?"),
        ("Shapes::Plain", "area"),
        ("Shapes::Point", "far?"),
    ]
    listed = json.loads(cli("plan", "targets", "--json", source).out)["targets"]
    assert "inside?=" in {target["method"] for target in listed}
