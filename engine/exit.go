package engine

// Exit codes of the contract with the program, after sysexits.h and timeout(1).
const (
	ExitUsage     = 64
	ExitDataError = 65
	ExitTempFail  = 75
	ExitNoPerm    = 77
	ExitConfig    = 78
	ExitTimeout   = 124
)
