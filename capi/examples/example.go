// A loss scaler in Go, by cgo: CGO_CFLAGS=-I... CGO_LDFLAGS="-L... -ltare" go build example.go
//
//	example CHECKPOINT FOLDER
//
// C may keep no pointer into Go's memory, and a tare_tensor holds one: so the gradients live in C memory here.
package main

/*
#include <stdlib.h>
#include <tare/tare.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"
)

func newError() *C.tare_error {
	return &C.tare_error{struct_size: C.sizeof_tare_error}
}

func must(status C.int32_t, failure *C.tare_error) {
	if status != C.TARE_OK {
		fmt.Fprintln(os.Stderr, errors.New(C.GoString(&failure.message[0])))
		os.Exit(1)
	}
}

func withText(text string, use func(*C.char)) {
	copied := C.CString(text)
	defer C.free(unsafe.Pointer(copied))
	use(copied)
}

func scaleOf(scaler *C.tare_scaler) float64 {
	var scale C.double
	failure := newError()
	must(C.tare_scaler_scale(&scale, scaler, nil, failure), failure)
	return float64(scale)
}

// Writes the state and reads its scale back.
func roundTrip(state *C.tare_state, path string) (scale C.double) {
	failure := newError()
	var again *C.tare_state
	withText(path, func(path *C.char) {
		must(C.tare_state_write(state, path, nil, failure), failure)
		must(C.tare_state_read(&again, path, failure), failure)
	})
	defer C.tare_state_destroy(again)
	withText("scale", func(key *C.char) { must(C.tare_state_number(&scale, again, key, failure), failure) })
	return scale
}

func main() {
	if len(os.Args) != 3 {
		fmt.Println("usage: example CHECKPOINT FOLDER")
		os.Exit(2)
	}
	failure := newError()
	var scaler *C.tare_scaler
	withText(`{"policy":"torch","initial_scale":1024}`, func(config *C.char) {
		must(C.tare_scaler_create(&scaler, config, failure), failure)
	})
	defer C.tare_scaler_destroy(scaler)

	memory := C.malloc(3 * C.sizeof_float)
	defer C.free(memory)
	gradients := unsafe.Slice((*float32)(memory), 3)
	copy(gradients, []float32{1024, float32(math.Inf(1)), 512})
	tensor := C.tare_tensor{data: memory, count: 3, dtype: C.TARE_F32}
	must(C.tare_scaler_unscale(scaler, &tensor, 1, nil, failure), failure)
	must(C.tare_scaler_update(scaler, nil, failure), failure)
	fmt.Printf("unscaled %g, scale %g\n", gradients[0], scaleOf(scaler))

	var state *C.tare_state
	must(C.tare_scaler_save(&state, scaler, nil, failure), failure)
	fmt.Printf("read back %g and %g\n", roundTrip(state, os.Args[2]+"/go.json"), roundTrip(state, os.Args[2]+"/go.h5"))
	C.tare_state_destroy(state)

	withText(os.Args[1], func(path *C.char) { must(C.tare_checkpoint_state(&state, path, nil, failure), failure) })
	defer C.tare_state_destroy(state)
	must(C.tare_scaler_load(scaler, state, nil, failure), failure)
	must(C.tare_scaler_report_overflow(scaler, 1, nil, failure), failure)
	must(C.tare_scaler_update(scaler, nil, failure), failure)
	fmt.Printf("an overflow after the checkpoint: scale %g\n", scaleOf(scaler))
}
