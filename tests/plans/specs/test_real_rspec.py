"""Real RSpec runs the written skeletons: every example is pending, none fails; and what they call can be called."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from plans.projects import RubyProject
from plans.specs import test_merge

HERE = Path(__file__).parent
pytestmark = pytest.mark.long
SERVICE = """\
module Billing
  class Checkout
    def initialize(cart, gateway:)
      @cart = cart
      @gateway = gateway
    end

    def call(customer)
      return :blocked unless customer

      @gateway ? charge(customer) : :later
    end

    def self.open?(day) = day == :sunday ? :shut : :open

    private

    def charge(customer)
      customer == :vip ? :free : :charged
    end
  end
end
"""
MODULE = (
    "module Rounding\n  def rounded(value) = value ? value.round : 0\n  def self.step(x) = x ? 1 : 2\nend\n"
)
FUNCTIONS = "module Area\n  module_function\n  def of(side) = side ? side * side : 0\nend\n"
TOP_LEVEL = "def greeting(name)\n  name ? \"Hello #{name}\" : 'Hello'\nend\n"

RAILS = {
    "config/database.yml": "test:\n  adapter: sqlite3\n  database: ':memory:'\n",
    "config/routes.rb": (
        "Rails.application.routes.draw do\n"
        "  resources(:customers, only: %i[index show]) { get :export, on: :collection }\n"
        "  namespace(:admin) { resource :report, only: :show }\n"
        "end\n"
    ),
    "app/controllers/application_controller.rb": "class ApplicationController < ActionController::Base; end\n",
    "app/controllers/customers_controller.rb": """\
class CustomersController < ApplicationController
  before_action :load_customer, only: :show

  def index
    params[:short] ? head(:ok) : head(:no_content)
  end

  def show
    @customer ? head(:ok) : head(:no_content)
  end

  def export
    params[:csv] ? head(:ok) : head(:no_content)
  end

  private

  def load_customer
    @customer = Customer.first unless params[:none]
  end
end
""",
    "app/controllers/admin/reports_controller.rb": """\
module Admin
  class ReportsController < ApplicationController
    def show
      params[:full] ? head(:ok) : head(:no_content)
    end
  end
end
""",
    "app/models/application_record.rb": (
        "class ApplicationRecord < ActiveRecord::Base\n  self.abstract_class = true\nend\n"
    ),
    "app/models/customer.rb": """\
class Customer < ApplicationRecord
  before_save :normalize

  def title
    active? ? name : 'gone'
  end

  def self.named(name)
    name ? where(name: name) : none
  end

  private

  def normalize
    self.label = name if label.nil?
  end
end
""",
    "app/models/post.rb": "class Post < ApplicationRecord\n  include Taggable\nend\n",
    "app/models/concerns/taggable.rb": """\
module Taggable
  extend ActiveSupport::Concern

  included { validates :tag, presence: true }

  class_methods do
    def tagged(tag)
      tag ? where(tag: tag) : none
    end
  end

  def tag_text
    tag.present? ? tag : 'none'
  end
end
""",
    "app/jobs/application_job.rb": "class ApplicationJob < ActiveJob::Base; end\n",
    "app/jobs/sync_job.rb": """\
class SyncJob < ApplicationJob
  def perform(customer)
    customer ? :synced : :skipped
  end
end
""",
    "app/mailers/application_mailer.rb": "class ApplicationMailer < ActionMailer::Base; end\n",
    "app/mailers/customer_mailer.rb": """\
class CustomerMailer < ApplicationMailer
  def welcome(customer)
    mail(to: customer ? 'a@example.com' : 'b@example.com', from: 'c@example.com', body: 'x')
  end

  def reminder
    mail(to: params[:late] ? 'a@example.com' : 'b@example.com', from: 'c@example.com', body: 'x')
  end
end
""",
    "app/policies/application_policy.rb": """\
class ApplicationPolicy
  attr_reader :user, :record

  def initialize(user, record)
    @user = user
    @record = record
  end
end
""",
    "app/policies/customer_policy.rb": "class CustomerPolicy < ApplicationPolicy\n  def update? = user ? true : false\nend\n",
    "spec/factories/customers.rb": (
        "FactoryBot.define do\n  factory :customer do\n    name { 'Ann' }\n"
        "    trait(:inactive) { active { false } }\n  end\nend\n"
    ),
}


def _rspec(project: RubyProject) -> list[dict[str, Any]]:
    """The examples of all specs, as RSpec reports them."""
    command = ["rspec", "--format", "json", "--out", "out.json"]
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, timeout=300, check=False)
    report = json.loads((project.root / "out.json").read_text())
    assert report["summary"]["errors_outside_of_examples_count"] == 0, done.stdout + done.stderr
    assert report["examples"], done.stdout
    examples: list[dict[str, Any]] = report["examples"]
    return examples


def _write(cli: Cli, project: RubyProject, *files: str) -> None:
    for file in files:
        done = cli("plan", "pipeline", project.root / file, "--all-methods")
        assert done.code in {0, 2}, done.err


def _check(project: RubyProject) -> None:
    """All examples are pending; and without `skip`, what they call can be called."""
    pending = _rspec(project)
    assert {example["status"] for example in pending} == {"pending"}
    for spec in (project.root / "spec").rglob("*_spec.rb"):
        spec.write_text(re.sub(r"skip 'no expectation yet'", "result", spec.read_text()))
    called = _rspec(project)
    failed = [
        f"{each['full_description']}: {each['exception']['message']}"
        for each in called
        if each["status"] != "passed"
    ]
    assert failed == []
    assert len(called) == len(pending)


@pytest.fixture
def shop(tmp_path: Path) -> RubyProject:
    project = RubyProject(tmp_path / "shop")
    shutil.rmtree(project.root / "app")
    return project


@pytest.mark.needs("ruby-rspec")
@pytest.mark.parametrize("helper", ["", "spec_helper"])
def test_services_modules_and_private_methods_without_rails(cli: Cli, shop: RubyProject, helper: str) -> None:
    sources = {
        "app/services/billing/checkout.rb": SERVICE,
        "lib/rounding.rb": MODULE,
        "lib/area.rb": FUNCTIONS,
        "lib/greeting.rb": TOP_LEVEL,
    }
    for file, text in sources.items():
        shop.add(file, text.encode())
    if helper:
        loads = "".join(f"require_relative '../{file}'\n" for file in sources)
        shop.add("spec/spec_helper.rb", loads.encode())
    _write(cli, shop, *sources)
    text = (shop.root / "spec/services/billing/checkout_spec.rb").read_text()
    required = (
        "require 'spec_helper'" if helper else "require_relative '../../../app/services/billing/checkout'"
    )
    assert text.splitlines()[2] == required
    assert "# #charge is private: test it through #call\n" in text
    assert "instance.charge" not in text
    assert "send(" not in text
    assert (
        "let(:host_class) { Class.new { include Rounding } }"
        in (shop.root / "spec/lib/rounding_spec.rb").read_text()
    )
    _check(shop)


@pytest.mark.needs(
    "ruby-rspec-rails",
    "ruby-activerecord",
    "ruby-actionmailer",
    "ruby-activejob",
    "ruby-sqlite3",
    "ruby-factory-bot",
)
def test_models_concerns_controllers_jobs_mailers_and_policies_in_rails(cli: Cli, shop: RubyProject) -> None:
    for file, text in RAILS.items():
        shop.add(file, text.encode())
    shutil.copy(HERE / "rails_helper.rb", shop.root / "spec" / "rails_helper.rb")
    _write(
        cli,
        shop,
        "app/models/customer.rb",
        "app/models/concerns/taggable.rb",
        "app/controllers/customers_controller.rb",
        "app/controllers/admin/reports_controller.rb",
        "app/jobs/sync_job.rb",
        "app/mailers/customer_mailer.rb",
        "app/policies/customer_policy.rb",
    )
    heads = {
        path.relative_to(shop.root / "spec").as_posix(): path.read_text().splitlines()[4]
        for path in (shop.root / "spec").rglob("*_spec.rb")
    }
    assert heads == {
        "models/customer_spec.rb": "RSpec.describe Customer, type: :model do",
        "models/concerns/taggable_spec.rb": "RSpec.describe Taggable, type: :model do",
        "requests/customers_spec.rb": "RSpec.describe CustomersController, type: :request do",
        "requests/admin/reports_spec.rb": "RSpec.describe Admin::ReportsController, type: :request do",
        "jobs/sync_job_spec.rb": "RSpec.describe SyncJob, type: :job do",
        "mailers/customer_mailer_spec.rb": "RSpec.describe CustomerMailer, type: :mailer do",
        "policies/customer_policy_spec.rb": "RSpec.describe CustomerPolicy, type: :policy do",
    }
    texts = {name: (shop.root / "spec" / name).read_text() for name in heads}
    assert "      get customer_path(id), params: params\n" in texts["requests/customers_spec.rb"]
    assert "      get export_customers_path, params: params\n" in texts["requests/customers_spec.rb"]
    assert "      get admin_report_path, params: params\n" in texts["requests/admin/reports_spec.rb"]
    assert (
        "# #load_customer is private: test it through #show; run by before_action"
        in texts["requests/customers_spec.rb"]
    )
    assert "let(:instance) { build_stubbed(:customer, :inactive) }" in texts["models/customer_spec.rb"]
    assert "let(:host_class) { Post } # includes Taggable" in texts["models/concerns/taggable_spec.rb"]
    assert "described_class.perform_now(customer)" in texts["jobs/sync_job_spec.rb"]
    assert "described_class.welcome(customer).deliver_now" in texts["mailers/customer_mailer_spec.rb"]
    assert "described_class.with(params).reminder.deliver_now" in texts["mailers/customer_mailer_spec.rb"]
    requests = shop.root / "spec/requests/customers_spec.rb"
    requests.write_text(requests.read_text().replace("let(:id) { nil }", "let(:id) { 1 }"))
    _check(shop)


@pytest.mark.needs("ruby-rspec")
@pytest.mark.parametrize("layout", test_merge.LAYOUTS)
def test_merged_specs_run(cli: Cli, shop: RubyProject, layout: str) -> None:
    shop.add("app/services/checkout.rb", test_merge.SOURCE)
    shop.add("spec/spec_helper.rb", b"require_relative '../app/services/checkout'\n")
    shop.add(".rspec", b"--require spec_helper\n")
    before = test_merge.LAYOUTS[layout]
    shop.add(test_merge.SPEC, before)
    known = {example["full_description"]: example["status"] for example in _rspec(shop)}
    _write(cli, shop, "app/services/checkout.rb")
    after = {example["full_description"]: example["status"] for example in _rspec(shop)}
    assert {name: after[name] for name in known} == known
    assert {after[name] for name in after if name not in known} == {"pending"}
    assert len(after) > len(known)
