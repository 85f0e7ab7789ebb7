class Thermostat
  def mode
    case
    when temperature < 18 then :heat
    when temperature > 24 then :cool
    else :off
    end
  end
end
