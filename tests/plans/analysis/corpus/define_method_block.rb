class Flags
  define_method(:status) do |flag|
    flag.on? ? :on : :off
  end
end
