package spec

// optionUnsupported marks a field that definitions of earlier versions have and that does nothing. It is kept so that
// they stay readable and run on; nobody may ask for it any more, and neither the schema nor a list of keys has it.
const optionUnsupported = "unsupported"

// noDelivery is why most of alerts is refused.
const noDelivery = "does nothing in this version, which delivers no alerts: "

// unsupportedReasons say, by the path of a field, why it is refused and what to do; those of DAGs begin with "DAG:.".
var unsupportedReasons = map[string]string{
	"alerts.duration": noDelivery + "remove it; alerts.lag is supported, and says after what delay a run counts as late",
	"alerts.on":       noDelivery + "remove it; alerts.lag is supported, and says after what delay a run counts as late",
	"DAG:.alerts":     noDelivery + "remove it",
}

// Unsupported returns what the job asks for and this version does not do. [Decode] refuses it. It is not part of
// [Job.Validate], because a job that is stored already stays as it is and runs.
func (j *Job) Unsupported() Problems {
	var problems Problems
	if j.Alerts == nil {
		return nil
	}
	if j.Alerts.Duration != 0 {
		problems = append(problems, problemAt("alerts.duration", unsupportedReasons["alerts.duration"]))
	}
	if len(j.Alerts.On) > 0 {
		problems = append(problems, problemAt("alerts.on", unsupportedReasons["alerts.on"]))
	}
	return problems
}

// Unsupported is [Job.Unsupported] for a DAG.
func (d *DAG) Unsupported() Problems {
	if d.Alerts == nil {
		return nil
	}
	return Problems{problemAt("alerts", unsupportedReasons["DAG:.alerts"])}
}
