class Adapter
  def dialect(name)
    return :mssql if /sqlserver/i.match?(name)
    return :mysql if name =~ /mysql/
    return :lite if name.match?(/sqlite/)

    name !~ /mysql|maria/ ? :other : :maria
  end
end
