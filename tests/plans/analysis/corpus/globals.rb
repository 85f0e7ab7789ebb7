class Charset
  def kind(text)
    text =~ /(\w+)?/
    return :named if $1

    $KCODE == "UTF8" ? :utf8 : :other
  end
end
