// A loss scaler in Rust, with the library opened at run time and no crate: rustc example.rs
//
//     example LIBTARE CHECKPOINT FOLDER
use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_int};
use std::ptr::{null, null_mut};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}
const RTLD_NOW: c_int = 2;

#[repr(C)]
struct Error {
    struct_size: u64,
    status: i32,
    detail: i32,
    message: [c_char; 1024],
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    count: u64,
    dtype: i32,
    reserved: i32,
}

type Handle = *mut c_void;
type Result<T> = std::result::Result<T, String>;

fn text(value: &str) -> CString {
    CString::new(value).expect("no NUL")
}

struct Tare {
    library: *mut c_void,
}

impl Tare {
    fn open(path: &str) -> Tare {
        let library = unsafe { dlopen(text(path).as_ptr(), RTLD_NOW) };
        assert!(!library.is_null(), "cannot open {path}");
        Tare { library }
    }

    /// SAFETY: `F` is the C type of that function.
    unsafe fn find<F: Copy>(&self, name: &str) -> F {
        let symbol = dlsym(self.library, text(name).as_ptr());
        assert!(!symbol.is_null(), "libtare has no {name}");
        std::mem::transmute_copy(&symbol)
    }

    fn call(&self, function: impl FnOnce(*mut Error) -> i32) -> Result<()> {
        let mut error = Error { struct_size: std::mem::size_of::<Error>() as u64, status: 0, detail: 0, message: [0; 1024] };
        match function(&mut error) {
            0 => Ok(()),
            _ => Err(unsafe { CStr::from_ptr(error.message.as_ptr()) }.to_string_lossy().into_owned()),
        }
    }

    fn create(&self, config: &str) -> Result<Handle> {
        let mut handle = null_mut();
        let create: extern "C" fn(*mut Handle, *const c_char, *mut Error) -> i32 = unsafe { self.find("tare_scaler_create") };
        self.call(|error| create(&mut handle, text(config).as_ptr(), error)).map(|()| handle)
    }

    fn unscale(&self, scaler: Handle, values: &mut [f32]) -> Result<()> {
        let tensor = Tensor { data: values.as_mut_ptr().cast(), count: values.len() as u64, dtype: 1, reserved: 0 };
        let unscale: extern "C" fn(Handle, *const Tensor, u64, *mut c_void, *mut Error) -> i32 = unsafe { self.find("tare_scaler_unscale") };
        self.call(|error| unscale(scaler, &tensor, 1, null_mut(), error))
    }

    fn report_overflow(&self, scaler: Handle, overflow: bool) -> Result<()> {
        let report: extern "C" fn(Handle, i32, *mut c_void, *mut Error) -> i32 = unsafe { self.find("tare_scaler_report_overflow") };
        self.call(|error| report(scaler, overflow.into(), null_mut(), error))
    }

    fn update(&self, scaler: Handle) -> Result<()> {
        let update: extern "C" fn(Handle, *mut c_void, *mut Error) -> i32 = unsafe { self.find("tare_scaler_update") };
        self.call(|error| update(scaler, null_mut(), error))
    }

    fn scale(&self, scaler: Handle) -> Result<f64> {
        let mut value = 0.0;
        let scale: extern "C" fn(*mut f64, Handle, *mut c_void, *mut Error) -> i32 = unsafe { self.find("tare_scaler_scale") };
        self.call(|error| scale(&mut value, scaler, null_mut(), error)).map(|()| value)
    }

    fn save(&self, scaler: Handle) -> Result<Handle> {
        let mut state = null_mut();
        let save: extern "C" fn(*mut Handle, Handle, *mut c_void, *mut Error) -> i32 = unsafe { self.find("tare_scaler_save") };
        self.call(|error| save(&mut state, scaler, null_mut(), error)).map(|()| state)
    }

    fn load(&self, scaler: Handle, state: Handle) -> Result<()> {
        let load: extern "C" fn(Handle, Handle, *mut c_void, *mut Error) -> i32 = unsafe { self.find("tare_scaler_load") };
        self.call(|error| load(scaler, state, null_mut(), error))
    }

    /// Writes a state and reads its scale back.
    fn round_trip(&self, state: Handle, path: &str) -> Result<f64> {
        let mut again = null_mut();
        let mut value = 0.0;
        let write: extern "C" fn(Handle, *const c_char, *const c_char, *mut Error) -> i32 = unsafe { self.find("tare_state_write") };
        let read: extern "C" fn(*mut Handle, *const c_char, *mut Error) -> i32 = unsafe { self.find("tare_state_read") };
        let number: extern "C" fn(*mut f64, Handle, *const c_char, *mut Error) -> i32 = unsafe { self.find("tare_state_number") };
        self.call(|error| write(state, text(path).as_ptr(), null(), error))?;
        self.call(|error| read(&mut again, text(path).as_ptr(), error))?;
        let result = self.call(|error| number(&mut value, again, text("scale").as_ptr(), error));
        self.destroy("tare_state_destroy", again);
        result.map(|()| value)
    }

    fn from_checkpoint(&self, path: &str) -> Result<Handle> {
        let mut state = null_mut();
        let read: extern "C" fn(*mut Handle, *const c_char, *const c_char, *mut Error) -> i32 = unsafe { self.find("tare_checkpoint_state") };
        self.call(|error| read(&mut state, text(path).as_ptr(), null(), error)).map(|()| state)
    }

    fn destroy(&self, name: &str, handle: Handle) {
        let destroy: extern "C" fn(Handle) = unsafe { self.find(name) };
        destroy(handle);
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let (library, checkpoint, folder) = match &arguments[..] {
        [_, library, checkpoint, folder] => (library, checkpoint, folder),
        _ => return Err("usage: example LIBTARE CHECKPOINT FOLDER".into()),
    };
    let tare = Tare::open(library);

    let scaler = tare.create(r#"{"policy":"torch","initial_scale":1024}"#)?;
    let mut gradients = [1024.0, f32::INFINITY, 512.0];
    tare.unscale(scaler, &mut gradients)?;
    tare.update(scaler)?;
    println!("unscaled {}, scale {}", gradients[0], tare.scale(scaler)?);

    let state = tare.save(scaler)?;
    let from_json = tare.round_trip(state, &format!("{folder}/rust.json"))?;
    let from_hdf5 = tare.round_trip(state, &format!("{folder}/rust.h5"))?;
    println!("read back {from_json} and {from_hdf5}");
    tare.destroy("tare_state_destroy", state);

    let state = tare.from_checkpoint(checkpoint)?;
    tare.load(scaler, state)?;
    tare.destroy("tare_state_destroy", state);
    tare.report_overflow(scaler, true)?;
    tare.update(scaler)?;
    println!("an overflow after the checkpoint: scale {}", tare.scale(scaler)?);
    tare.destroy("tare_scaler_destroy", scaler);
    Ok(())
}
