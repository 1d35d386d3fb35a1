// Package static holds what the pages load: scripts, styles and images, bundled by `make static` from src into dist
// and embedded here.
//
// Each file's name carries a hash of its content, so browsers keep it for ever; URL turns the plain name into the
// hashed one. A program that was built before `make static` had run serves its pages without them: Built tells.
//
// It imports nothing of Tidewheel.
package static
