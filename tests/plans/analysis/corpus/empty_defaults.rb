class Search
  def run(terms = [], filter: {}, scope: "", sorting: nil)
    return [] if terms.empty?

    found = scope ? within(scope, terms) : all(terms)
    found = narrowed(found, filter) if filter.present?
    sorting.nil? ? found : sorted(found, sorting)
  end
end
