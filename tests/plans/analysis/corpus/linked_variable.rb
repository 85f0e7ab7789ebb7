class Poll
  def ask
    survey = current_survey || next_survey || archive.last_survey
    raise NotFound unless survey

    survey&.questions
  end
end
