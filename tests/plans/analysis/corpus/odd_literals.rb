class Words
  LOUD = %w[hey ho].freeze

  def meaning(word)
    case word
    when *LOUD then :loud
    when "yes", " yes " then :yes
    when "no way" then :no
    when %w[a b] then :list
    when /x+/ then :pattern
    when "" then :silence
    end
  end
end
