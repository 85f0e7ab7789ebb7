# frozen_string_literal: true

# Says of each file whether Ruby can parse it: a line of JSON, null or the complaint.
require 'json'

ARGV.each do |path|
  RubyVM::InstructionSequence.compile(File.read(path, encoding: 'UTF-8'), path)
  puts 'null'
rescue SyntaxError => e
  puts JSON.generate(e.message)
end
