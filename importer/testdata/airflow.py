"""Nightly things."""
from datetime import datetime, timedelta
import pendulum

from airflow import DAG
from airflow.operators.bash import BashOperator
from airflow.operators.python import PythonOperator

default_args = {
    "owner": "data",
    "retries": 2,
    'retry_delay': timedelta(minutes=5),
    "email": ["ops@example.com"],
}

with DAG(
    "nightly_etl",
    default_args=default_args,
    description="All of "
                "the night",
    schedule="0 2 * * *",  # at two
    start_date=pendulum.datetime(2024, 1, 1, tz="UTC"),
    catchup=False,
    tags=["daily", "finance"],
    on_failure_callback=tell,
) as dag:
    fetch = BashOperator(task_id="fetch", bash_command="curl -s https://example.com/${PATH} -o /tmp/x; echo {{ ds }} {{ params.x }}",
                         env={"LEVEL": "info", "N": str(1)})
    clean = BashOperator(
        task_id="clean",
        bash_command=r"""
        sed 's/\t/ /g' \
            /tmp/x
        """,
        retries=0, execution_timeout=timedelta(hours=1, minutes=30),
    )
    load = BashOperator(task_id='load', bash_command='load ' 'all', trigger_rule=TriggerRule.ALL_DONE, queue="big")
    check = BashOperator(task_id="check", bash_command=f"check {x}")
    py = PythonOperator(task_id="py", python_callable=lambda: f(x, y))
    report = BashOperator(task_id="report", bash_command="report", trigger_rule="none_failed_min_one_success")
    fetch >> [clean, load] >> report
    report << py
    load.set_upstream([clean])
    chain(fetch, clean)

other = DAG(dag_id="every_ten", schedule_interval=timedelta(minutes=10), catchup=True)
one = BashOperator(task_id="one", bash_command="true", dag=other)
two = BashOperator(task_id="two", bash_command="true", dag=other)
two.set_upstream(one)

@task
def f():
    return {"a": [1, 2
