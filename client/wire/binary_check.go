package wire

// BinaryCheck is what was found in the stored bytes of binaries.
type BinaryCheck struct {
	Checked int           `json:"checked" doc:"How many contents were read and compared with their sha256"`
	Rest    int           `json:"rest" doc:"How many were not, for lack of time"`
	Items   []BinaryFault `json:"items" doc:"The versions whose bytes are missing or damaged"`
}

// BinaryFault is a version whose bytes are not what was uploaded.
type BinaryFault struct {
	Name    string `json:"name" example:"report"`
	Version int    `json:"version" example:"3"`
	SHA256  string `json:"sha256"`
	Fault   string `json:"fault" enum:"missing,damaged"`
}
