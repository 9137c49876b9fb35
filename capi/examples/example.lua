-- A loss scaler in LuaJIT, through its FFI: no module, no build.
--
--     luajit example.lua LIBTARE CHECKPOINT FOLDER
local ffi = require("ffi")

ffi.cdef [[
typedef struct { uint64_t struct_size; int32_t status; int32_t detail; char message[1024]; } tare_error;
typedef struct { void* data; uint64_t count; int32_t dtype; int32_t reserved; } tare_tensor;
typedef struct tare_scaler tare_scaler;
typedef struct tare_state tare_state;
int32_t tare_scaler_create(tare_scaler**, const char*, tare_error*);
int32_t tare_scaler_unscale(tare_scaler*, const tare_tensor*, uint64_t, void*, tare_error*);
int32_t tare_scaler_report_overflow(tare_scaler*, int32_t, void*, tare_error*);
int32_t tare_scaler_update(tare_scaler*, void*, tare_error*);
int32_t tare_scaler_scale(double*, const tare_scaler*, void*, tare_error*);
int32_t tare_scaler_save(tare_state**, const tare_scaler*, void*, tare_error*);
int32_t tare_scaler_load(tare_scaler*, const tare_state*, void*, tare_error*);
void tare_scaler_destroy(tare_scaler*);
int32_t tare_state_read(tare_state**, const char*, tare_error*);
int32_t tare_state_write(const tare_state*, const char*, const char*, tare_error*);
int32_t tare_state_number(double*, const tare_state*, const char*, tare_error*);
int32_t tare_checkpoint_state(tare_state**, const char*, const char*, tare_error*);
void tare_state_destroy(tare_state*);
]]

local path, checkpoint, folder = ...
if not folder then
  print("usage: example.lua LIBTARE CHECKPOINT FOLDER")
  os.exit(2)
end
local tare = ffi.load(path)
local failure = ffi.new("tare_error", { struct_size = ffi.sizeof("tare_error") })
local f32 = 1

-- Calls a function that returns a status; what it says when that is not 0 becomes a Lua error.
local function call(name, ...)
  local arguments = { n = select("#", ...) + 1, ... }
  arguments[arguments.n] = failure
  if tare["tare_" .. name](unpack(arguments, 1, arguments.n)) ~= 0 then error(ffi.string(failure.message), 0) end
end

-- What such a function made, destroyed when Lua lets go of it.
local function made(kind, name, ...)
  local out = ffi.new("tare_" .. kind .. "*[1]")
  call(name, out, ...)
  return ffi.gc(out[0], tare["tare_" .. kind .. "_destroy"])
end

local function number(name, ...)
  local out = ffi.new("double[1]")
  call(name, out, ...)
  return out[0]
end

local function read_back(state, file)
  call("state_write", state, file, nil)
  return number("state_number", made("state", "state_read", file), "scale")
end

local scaler = made("scaler", "scaler_create", '{"policy":"torch","initial_scale":1024}')
local gradients = ffi.new("float[3]", 1024, math.huge, 512)
local tensors = ffi.new("tare_tensor[1]", { { gradients, 3, f32, 0 } })
call("scaler_unscale", scaler, tensors, 1, nil)
call("scaler_update", scaler, nil)
print(("unscaled %g, scale %g"):format(gradients[0], number("scaler_scale", scaler, nil)))

local state = made("state", "scaler_save", scaler, nil)
print(("read back %g and %g"):format(read_back(state, folder .. "/lua.json"), read_back(state, folder .. "/lua.h5")))

call("scaler_load", scaler, made("state", "checkpoint_state", checkpoint, nil), nil)
call("scaler_report_overflow", scaler, 1, nil)
call("scaler_update", scaler, nil)
print(("an overflow after the checkpoint: scale %g"):format(number("scaler_scale", scaler, nil)))
