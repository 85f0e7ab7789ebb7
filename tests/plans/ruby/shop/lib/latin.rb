# encoding: iso-8859-1
class Café
  def crème
    1
  end
end
