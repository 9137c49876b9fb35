# A loss scaler in Ruby, through Fiddle: no gem, no build.
#
#     ruby example.rb LIBTARE CHECKPOINT FOLDER
require "fiddle"

abort "usage: example.rb LIBTARE CHECKPOINT FOLDER" unless ARGV.size == 3

# Functions by the names that tare.h gives them; a status that is not 0 is raised.
class Tare
  F32 = 1
  MESSAGE_OFFSET = 16
  ERROR_SIZE = MESSAGE_OFFSET + 1024
  KINDS = { pointer: Fiddle::TYPE_VOIDP, u64: -Fiddle::TYPE_LONG_LONG, i32: Fiddle::TYPE_INT }.freeze
  # Arguments before the error: results first, then the handle, then what it takes.
  SIGNATURES = {
    scaler_create: %i[pointer pointer],
    scaler_unscale: %i[pointer pointer u64 pointer],
    scaler_report_overflow: %i[pointer i32 pointer],
    scaler_update: %i[pointer pointer],
    scaler_scale: %i[pointer pointer pointer],
    scaler_save: %i[pointer pointer pointer],
    scaler_load: %i[pointer pointer pointer],
    state_read: %i[pointer pointer],
    state_write: %i[pointer pointer pointer],
    state_number: %i[pointer pointer pointer],
    checkpoint_state: %i[pointer pointer pointer]
  }.freeze

  def initialize(path)
    library = Fiddle.dlopen(path)
    @functions = SIGNATURES.to_h do |name, kinds|
      [name, Fiddle::Function.new(library["tare_#{name}"], KINDS.values_at(*kinds, :pointer), Fiddle::TYPE_INT)]
    end
    @destroys = %i[scaler state].to_h { |kind| [kind, library["tare_#{kind}_destroy"]] }
  end

  def call(name, *arguments)
    error = [ERROR_SIZE].pack("Q").ljust(ERROR_SIZE, "\0")
    return if @functions.fetch(name).call(*arguments, error).zero?

    raise error[MESSAGE_OFFSET..].unpack1("Z*").force_encoding("UTF-8")
  end

  # What a call made; destroyed with the pointer.
  def made(kind, name, *arguments)
    out = [0].pack("J")
    call(name, out, *arguments)
    Fiddle::Pointer.new(out.unpack1("J"), 0, Fiddle::Function.new(@destroys.fetch(kind), [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID))
  end

  def number(name, *arguments)
    out = [0.0].pack("d")
    call(name, out, *arguments)
    out.unpack1("d")
  end
end

library, checkpoint, folder = ARGV
tare = Tare.new(library)
read_back = lambda do |state, path|
  tare.call(:state_write, state, path, nil)
  tare.number(:state_number, tare.made(:state, :state_read, path), "scale")
end

scaler = tare.made(:scaler, :scaler_create, '{"policy":"torch","initial_scale":1024}')
gradients = Fiddle::Pointer.malloc(3 * Fiddle::SIZEOF_FLOAT, Fiddle::RUBY_FREE)
gradients[0, gradients.size] = [1024.0, Float::INFINITY, 512.0].pack("f*")
tensor = [gradients.to_i, 3, Tare::F32, 0].pack("JQll")
tare.call(:scaler_unscale, scaler, tensor, 1, nil)
tare.call(:scaler_update, scaler, nil)
printf("unscaled %g, scale %g\n", gradients[0, gradients.size].unpack1("f"), tare.number(:scaler_scale, scaler, nil))

state = tare.made(:state, :scaler_save, scaler, nil)
printf("read back %g and %g\n", read_back[state, "#{folder}/ruby.json"], read_back[state, "#{folder}/ruby.h5"])

tare.call(:scaler_load, scaler, tare.made(:state, :checkpoint_state, checkpoint, nil), nil)
tare.call(:scaler_report_overflow, scaler, 1, nil)
tare.call(:scaler_update, scaler, nil)
printf("an overflow after the checkpoint: scale %g\n", tare.number(:scaler_scale, scaler, nil))
