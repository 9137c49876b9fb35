! A loss scaler in Fortran 2008, with the library opened at run time: gfortran example.f90 -ldl
!
!     example LIBTARE CHECKPOINT FOLDER
module tare
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int32_t), parameter :: tare_f32 = 1

  type, bind(c) :: tare_error
    integer(c_int64_t) :: struct_size = 1040
    integer(c_int32_t) :: status = 0
    integer(c_int32_t) :: detail = 0
    character(kind=c_char) :: message(1024) = c_null_char
  end type

  type, bind(c) :: tare_tensor
    type(c_ptr) :: data
    integer(c_int64_t) :: count
    integer(c_int32_t) :: dtype
    integer(c_int32_t) :: reserved = 0
  end type

  ! The shapes of the functions that are used here; handles are type(c_ptr), text ends with NUL.
  abstract interface
    ! tare_scaler_create, tare_state_read
    integer(c_int32_t) function make_from_text(out, text, error) bind(c)
      import
      type(c_ptr), intent(out) :: out
      character(kind=c_char), intent(in) :: text(*)
      type(tare_error), intent(inout) :: error
    end function

    ! tare_checkpoint_state
    integer(c_int32_t) function make_from_place(out, path, at, error) bind(c)
      import
      type(c_ptr), intent(out) :: out
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: at
      type(tare_error), intent(inout) :: error
    end function

    ! tare_scaler_save
    integer(c_int32_t) function make_from_handle(out, handle, stream, error) bind(c)
      import
      type(c_ptr), intent(out) :: out
      type(c_ptr), value :: handle, stream
      type(tare_error), intent(inout) :: error
    end function

    ! tare_scaler_unscale
    integer(c_int32_t) function take_tensors(handle, tensors, count, stream, error) bind(c)
      import
      type(c_ptr), value :: handle, stream
      type(tare_tensor), intent(in) :: tensors(*)
      integer(c_int64_t), value :: count
      type(tare_error), intent(inout) :: error
    end function

    ! tare_scaler_report_overflow
    integer(c_int32_t) function take_flag(handle, flag, stream, error) bind(c)
      import
      type(c_ptr), value :: handle, stream
      integer(c_int32_t), value :: flag
      type(tare_error), intent(inout) :: error
    end function

    ! tare_scaler_update
    integer(c_int32_t) function step(handle, stream, error) bind(c)
      import
      type(c_ptr), value :: handle, stream
      type(tare_error), intent(inout) :: error
    end function

    ! tare_scaler_load
    integer(c_int32_t) function take_handle(handle, other, stream, error) bind(c)
      import
      type(c_ptr), value :: handle, other, stream
      type(tare_error), intent(inout) :: error
    end function

    ! tare_scaler_scale
    integer(c_int32_t) function number_of(out, handle, stream, error) bind(c)
      import
      real(c_double), intent(out) :: out
      type(c_ptr), value :: handle, stream
      type(tare_error), intent(inout) :: error
    end function

    ! tare_state_number
    integer(c_int32_t) function number_at(out, handle, key, error) bind(c)
      import
      real(c_double), intent(out) :: out
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: key(*)
      type(tare_error), intent(inout) :: error
    end function

    ! tare_state_write
    integer(c_int32_t) function write_to(handle, path, options, error) bind(c)
      import
      type(c_ptr), value :: handle, options
      character(kind=c_char), intent(in) :: path(*)
      type(tare_error), intent(inout) :: error
    end function

    ! tare_scaler_destroy, tare_state_destroy
    subroutine destroy(handle) bind(c)
      import
      type(c_ptr), value :: handle
    end subroutine
  end interface

  interface
    type(c_ptr) function dlopen(path, flags) bind(c)
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: flags
    end function

    type(c_funptr) function dlsym(library, name) bind(c)
      import
      type(c_ptr), value :: library
      character(kind=c_char), intent(in) :: name(*)
    end function
  end interface

  procedure(make_from_text), pointer :: scaler_create, state_read
  procedure(take_tensors), pointer :: scaler_unscale
  procedure(take_flag), pointer :: scaler_report_overflow
  procedure(step), pointer :: scaler_update
  procedure(number_of), pointer :: scaler_scale
  procedure(make_from_handle), pointer :: scaler_save
  procedure(take_handle), pointer :: scaler_load
  procedure(destroy), pointer :: scaler_destroy, state_destroy
  procedure(write_to), pointer :: state_write
  procedure(number_at), pointer :: state_number
  procedure(make_from_place), pointer :: checkpoint_state

  type(c_ptr), private :: library
  type(tare_error) :: error

contains

  subroutine open_library(path)
    character(*), intent(in) :: path
    integer(c_int), parameter :: rtld_now = 2

    library = dlopen(c_text(path), rtld_now)
    if (.not. c_associated(library)) error stop "cannot open libtare"
    call c_f_procpointer(found("tare_scaler_create"), scaler_create)
    call c_f_procpointer(found("tare_scaler_unscale"), scaler_unscale)
    call c_f_procpointer(found("tare_scaler_report_overflow"), scaler_report_overflow)
    call c_f_procpointer(found("tare_scaler_update"), scaler_update)
    call c_f_procpointer(found("tare_scaler_scale"), scaler_scale)
    call c_f_procpointer(found("tare_scaler_save"), scaler_save)
    call c_f_procpointer(found("tare_scaler_load"), scaler_load)
    call c_f_procpointer(found("tare_scaler_destroy"), scaler_destroy)
    call c_f_procpointer(found("tare_state_read"), state_read)
    call c_f_procpointer(found("tare_state_write"), state_write)
    call c_f_procpointer(found("tare_state_number"), state_number)
    call c_f_procpointer(found("tare_state_destroy"), state_destroy)
    call c_f_procpointer(found("tare_checkpoint_state"), checkpoint_state)
  end subroutine

  type(c_funptr) function found(name)
    character(*), intent(in) :: name

    found = dlsym(library, c_text(name))
    if (.not. c_associated(found)) error stop "libtare lacks a function"
  end function

  function c_text(text)
    character(*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: c_text

    c_text = text // c_null_char
  end function

  ! Ends the program with what libtare said, unless the status is 0.
  subroutine check(status)
    integer(c_int32_t), intent(in) :: status
    character(len=size(error%message)) :: message

    if (status == 0) return
    message = transfer(error%message, message)
    print "(a)", message(:index(message, c_null_char) - 1)
    error stop 1
  end subroutine

  real(c_double) function scale_of(scaler)
    type(c_ptr), intent(in) :: scaler

    call check(scaler_scale(scale_of, scaler, c_null_ptr, error))
  end function

  ! Writes the state and reads its scale back.
  real(c_double) function read_back(state, file)
    type(c_ptr), intent(in) :: state
    character(*), intent(in) :: file
    type(c_ptr) :: again

    call check(state_write(state, c_text(file), c_null_ptr, error))
    call check(state_read(again, c_text(file), error))
    call check(state_number(read_back, again, c_text("scale"), error))
    call state_destroy(again)
  end function
end module

program example
  use tare
  use, intrinsic :: ieee_arithmetic
  implicit none

  character(len=1024) :: path, checkpoint, folder
  type(c_ptr) :: scaler, state
  real(c_float), target :: gradients(3)
  type(tare_tensor) :: tensors(1)
  real(c_double) :: from_json, from_hdf5

  if (command_argument_count() /= 3) error stop "usage: example LIBTARE CHECKPOINT FOLDER"
  call get_command_argument(1, path)
  call get_command_argument(2, checkpoint)
  call get_command_argument(3, folder)
  call open_library(trim(path))

  call check(scaler_create(scaler, c_text('{"policy":"torch","initial_scale":1024}'), error))
  gradients = [1024.0, ieee_value(1.0, ieee_positive_inf), 512.0]
  tensors(1) = tare_tensor(c_loc(gradients), size(gradients), tare_f32)
  call check(scaler_unscale(scaler, tensors, 1_c_int64_t, c_null_ptr, error))
  call check(scaler_update(scaler, c_null_ptr, error))
  print "(a, i0, a, i0)", "unscaled ", nint(gradients(1)), ", scale ", nint(scale_of(scaler))

  call check(scaler_save(state, scaler, c_null_ptr, error))
  from_json = read_back(state, trim(folder) // "/fortran.json")
  from_hdf5 = read_back(state, trim(folder) // "/fortran.h5")
  call state_destroy(state)
  print "(a, i0, a, i0)", "read back ", nint(from_json), " and ", nint(from_hdf5)

  call check(checkpoint_state(state, c_text(trim(checkpoint)), c_null_ptr, error))
  call check(scaler_load(scaler, state, c_null_ptr, error))
  call state_destroy(state)
  call check(scaler_report_overflow(scaler, 1_c_int32_t, c_null_ptr, error))
  call check(scaler_update(scaler, c_null_ptr, error))
  print "(a, i0)", "an overflow after the checkpoint: scale ", nint(scale_of(scaler))
  call scaler_destroy(scaler)
end program
