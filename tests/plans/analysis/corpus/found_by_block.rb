class FixtureService
  def call(candidates)
    folder = candidates.find { |each| each.exist? }
    raise MissingFolder unless folder

    open(folder)
  end
end
