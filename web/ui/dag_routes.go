package ui

// registerDAGs adds the pages of DAGs and of their waves, but for those where a DAG is written.
func (u *UI) registerDAGs(router Router) {
	router.GET("/dags", u.dagList)
	router.GET("/dags/:name", u.dagShow)
	router.GET("/dags/:name/waves", u.dagWaves)
	router.GET("/dags/:name/grid", u.dagGrid)
	router.GET("/dags/:name/slots", u.dagSlots)
	router.GET("/dags/:name/definition", u.dagDefinition)
	router.POST("/dags/:name/restore", u.dagRestore)
	router.GET("/dags/:name/backfill", u.dagBackfillPlan)
	router.POST("/dags/:name/backfill", u.dagBackfill)
	router.GET("/dags/:name/run", u.dagRunForm)
	router.POST("/dags/:name/run", u.dagRun)
	router.POST("/dags/:name/pause", u.dagPause)
	router.POST("/dags/:name/resume", u.dagResume)
	router.GET("/dags/:name/delete", u.dagDeleteForm)
	router.POST("/dags/:name/delete", u.dagDelete)

	router.GET("/waves/:id", u.waveShow)
	router.POST("/waves/:id/cancel", u.waveCancel)
	router.POST("/waves/:id/resume", u.waveResume)
	router.GET("/waves/:id/mark", u.waveMarkForm)
	router.POST("/waves/:id/mark", u.waveMark)
}
